
/* Rows with label 0 and with label 1, in whole numbers. */
typedef struct {
  double zeros, ones;
} @name@_set;

/* Is the share of ones in u above that in v? Products are exact: fma has what is lost. */
static inline int @name@_above(@name@_set u, @name@_set v) {
  const double a = u.ones * v.zeros, b = v.ones * u.zeros;
  if (a != b) return a > b;
  return fma(u.ones, v.zeros, -a) > fma(v.ones, u.zeros, -b);
}

/* The rows that share one value with the new case, if that value were t: in each fold
 * those between a corner of the convex minorant below the case and one above it. */
static inline @name@_set @name@_chosen(size_t rule, const size_t *below, const size_t *upto,
                                       @name@_set own, @name@_set t) {
  @name@_set sum = {0, 0};
  for (size_t k = 0; k < @name@_models; ++k) {
    const size_t table = rule * @name@_models + k, size = @name@_size[table];
    const double *zeros = @name@_data + @name@_first[table] + 2 * size;
    const double *ones = zeros + size + 1, *left = ones + size + 1, *right = left + size + 1;
    size_t i = below[k], j = upto[k];
    while (i > 0) {
      const size_t next = (size_t)left[i];
      const @name@_set edge = {zeros[i] - zeros[next], ones[i] - ones[next]};
      if (!@name@_above(edge, t)) break;
      i = next;
    }
    while (j < size) {
      const size_t next = (size_t)right[j];
      const @name@_set edge = {zeros[next] - zeros[j], ones[next] - ones[j]};
      if (!@name@_above(t, edge)) break;
      j = next;
    }
    sum.zeros += zeros[j] - zeros[i];
    sum.ones += ones[j] - ones[i];
  }
  sum.zeros = @row@ * sum.zeros + own.zeros;
  sum.ones = @row@ * sum.ones + own.ones;
  return sum;
}

/* Newton's method: it ends, since the steps stay between the values tried before. */
static inline double @name@_root(size_t rule, const size_t *below, const size_t *upto,
                                 @name@_set own) {
  @name@_set t = {1, 1};
  for (;;) {
    const @name@_set set = @name@_chosen(rule, below, upto, own, t);
    if (!@name@_above(set, t) && !@name@_above(t, set)) {
      return set.ones / (set.zeros + set.ones);
    }
    t = set;
  }
}

/* The pooled rule: isotonic regression on all folds, which meet in the new case. */
static inline @name@_answer @name@_rule(size_t rule, const double *scores) {
  const @name@_set zero = {@new_case@, 0}, one = {0, @new_case@};
  size_t below[@name@_models], upto[@name@_models];
  for (size_t k = 0; k < @name@_models; ++k) {
    const size_t table = rule * @name@_models + k, size = @name@_size[table];
    const double *start = @name@_data + @name@_first[table];
    upto[k] = @name@_count(start, size, scores[k]);
    below[k] = @name@_count(start + size, size, scores[k]);
  }
  @name@_answer answer;
  answer.lower = @name@_root(rule, below, upto, zero);
  answer.upper = @name@_root(rule, below, upto, one);
  answer.probability = @merged@;
  return answer;
}
