  double stated = 0, logit = 0; /* means over the models */
  for (size_t k = 0; k < @name@_models; ++k) {
    const double score = scores[k];
    stated += @stated@ / @name@_models;
    logit += @logit@ / @name@_models;
  }
  const double curve = 1 / (1 + exp(-logit));
  const double fixed = @of_model@ * stated + @of_curve@ * curve, weight = @of_rule@;
  answer.lower = fmin(weight * answer.lower + fixed, 1.0);
  answer.upper = fmin(weight * answer.upper + fixed, 1.0);
  answer.probability = fmin(weight * answer.probability + fixed, 1.0);
