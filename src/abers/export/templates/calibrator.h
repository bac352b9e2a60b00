/* A calibrator of @classes@ classes and @models@ model(s), made by abers.
 *
 *     @name@_answer answers[@name@_answers];
 *     @name@_read(scores, answers);
 *     answers[0].lower, answers[0].upper, answers[0].probability
 *
 * `scores` are @numbers@: @name@_columns of each model,
 * those of the first model first. Of two classes there is one column and one answer, that
 * of the second class; of more, one per class. All answers are NaN if a score is NaN, or no
 * probability where one is read. C99 or C++17, and doubles of IEEE 754.
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

enum {
  @name@_classes = @classes@,
  @name@_models = @models@,
  @name@_columns = @answers@,
  @name@_answers = @answers@
};

typedef struct {
  double lower, upper, probability;
} @name@_answer;

/* Tables, a model after the other, a class after the other: how long, and where. */
static const size_t @name@_size[] = {@sizes@};
static const size_t @name@_first[] = {@firsts@};
@data@
/* How many starts, which ascend, are not above the score. */
static inline size_t @name@_count(const double *start, size_t size, double score) {
  size_t from = 0;
  while (size > 0) {
    const size_t half = size / 2;
    if (start[from + half] <= score) {
      from += half + 1;
      size -= half + 1;
    } else {
      size = half;
    }
  }
  return from;
}
@rule@@read@
#endif
