/* A Venn-Abers rule of @size@ steps, made by abers.
 *
 *     @name@_answer a = @name@_read(score);
 *     a.lower, a.upper, a.probability
 *
 * All three are NaN if the score is. C99 or C++17, and doubles of IEEE 754 with their
 * denormal numbers: code that a program links with -ffast-math may switch these off.
 */
#ifndef @NAME@_H
#define @NAME@_H

#if defined(__FAST_MATH__) || defined(_M_FP_FAST)
#error "@name@.h must be compiled without fast-math, which takes NaN for a score."
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__
#error "@name@.h must be compiled without -ffinite-math-only, which forgets NaN."
#endif

#include <math.h>
#include <stddef.h>
@data@
typedef struct {
  double lower, upper, probability;
} @name@_answer;

/* The last step whose start is not above the score; the first starts at -inf. */
static inline size_t @name@_step(double score) {
  size_t step = 0, rest = @name@_size;
  while (rest > 1) {
    const size_t half = rest / 2;
    if (@name@_start[step + half] <= score) step += half;
    rest -= half;
  }
  return step;
}

static inline @name@_answer @name@_read(double score) {
  @name@_answer answer = {NAN, NAN, NAN};
  if (!isnan(score) && @name@_size > 0) {
    const size_t step = @name@_step(score);
    answer.lower = @name@_lower[step];
    answer.upper = @name@_upper[step];
    answer.probability = @name@_probability[step];
  }
  return answer;
}
@stacked@
#endif
