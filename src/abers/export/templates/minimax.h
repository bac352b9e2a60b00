
/* The rules of all models, merged. */
static inline @name@_answer @name@_rule(size_t rule, const double *scores) {
  const double n = @name@_models;
  double zeros = 0, ones = 0, lower = 0, upper = 0, brier = 0;
  for (size_t k = 0; k < @name@_models; ++k) {
    const size_t table = rule * @name@_models + k, size = @name@_size[table];
    const double *start = @name@_data + @name@_first[table];
    const size_t step = @name@_count(start, size, scores[k]) - 1;
    const double p0 = start[size + step], p1 = start[2 * size + step];
    zeros += log1p(-p0) / n;
    ones += log(p1) / n;
    lower += p0 / n;
    upper += p1 / n;
    brier += (p1 + (p0 - p1) * (p0 + p1) / 2) / n;
  }
  @name@_answer answer = {lower, upper, brier};
  if (@is_log@) { /* geometric means, of 1 - lower and of upper */
    const double low = n > 1 ? -expm1(zeros) : lower, high = n > 1 ? exp(ones) : upper;
    answer.lower = fmin(low, high);
    answer.upper = fmax(low, high);
    answer.probability = @merged@;
  }
  return answer;
}
