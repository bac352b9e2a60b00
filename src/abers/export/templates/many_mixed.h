  double curve[@name@_classes];
  @name@_softmax(mean, curve);
  for (int c = 0; c < size; ++c) {
    const double fixed = @of_model@ * stated[c] + @of_curve@ * curve[c], weight = @of_rule@;
    boxes[c].lower = fmin(weight * boxes[c].lower + fixed, 1.0);
    boxes[c].upper = fmin(weight * boxes[c].upper + fixed, 1.0);
    boxes[c].probability = fmin(weight * boxes[c].probability + fixed, 1.0);
  }
