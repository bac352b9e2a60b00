
/* The stacked rule: the answer above, mixed with the model and its curve. */
static inline @name@_answer @name@_stacked(double score) {
  @name@_answer answer = @name@_read(score);
  if (isnan(answer.lower) || !(@least@ <= score && score <= @greatest@)) {
    answer.lower = answer.upper = answer.probability = NAN;
    return answer;
  }
  const double fixed = @fixed@;
  const double weight = @weight@;
  answer.lower = fmin(weight * answer.lower + fixed, 1.0);
  answer.upper = fmin(weight * answer.upper + fixed, 1.0);
  answer.probability = fmin(weight * answer.probability + fixed, 1.0);
  return answer;
}
