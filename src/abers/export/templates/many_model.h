    double gaps[@name@_classes], p[@name@_classes];
    if (@is_log@) { /* the logarithms of the model's probabilities */
      const double sum_of_powers = @name@_gaps(logits, gaps, p);
      for (int c = 0; c < size; ++c) logits[c] = gaps[c] - log(sum_of_powers);
      @name@_softmax(logits, p);
      for (int c = 0; c < size; ++c) stated[c] += p[c] / @name@_models;
    }
    double centre = 0;
    for (int c = 0; c < size; ++c) {
      gaps[c] = fmin(fmax(logits[c], @low@), @high@);
      centre += gaps[c] / size;
    }
    for (int c = 0; c < size; ++c) {
      double new_logit = @name@_intercepts[c];
      for (int j = 0; j < size; ++j) new_logit += (gaps[j] - centre) * @name@_matrix[c][j];
      mean[c] += new_logit / @name@_models;
    }
