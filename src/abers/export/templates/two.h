
/* The answer for the second class. */
static inline void @name@_read(const double *scores, @name@_answer *answers) {
  @name@_answer answer = {NAN, NAN, NAN};
  *answers = answer;
  if (!@is_loaded@) return;
  for (size_t k = 0; k < @name@_models; ++k) {
    if (!(@least@ <= scores[k] && scores[k] <= @greatest@)) return;
  }
  answer = @name@_rule(0, scores);
@mixed@  answers->lower = fmin(answer.lower, answer.probability);
  answers->upper = fmax(answer.upper, answer.probability);
  answers->probability = answer.probability;
}
