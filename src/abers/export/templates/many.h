
static inline double @name@_single(double x) { return (double)(float)x; }
static inline double @name@_coarse(double x) {
  return @name@_single(rint(x * 4194304) / 4194304); /* multiples of 2^-22 */
}

static inline double @name@_largest(const double *x, int without) {
  double largest = -INFINITY;
  for (int c = 0; c < @name@_classes; ++c) {
    if (c != without) largest = fmax(largest, x[c]);
  }
  return largest;
}

/* How far numbers are below the largest; their exponentials, and the sum of these. */
static inline double @name@_gaps(const double *x, double *gaps, double *powers) {
  const double largest = @name@_largest(x, -1);
  double sum = 0;
  for (int c = 0; c < @name@_classes; ++c) {
    gaps[c] = x[c] - largest;
    if (isnan(gaps[c])) gaps[c] = 0; /* of equal infinities */
    sum += powers[c] = exp(gaps[c]);
  }
  return sum;
}

static inline void @name@_softmax(const double *x, double *p) {
  double gaps[@name@_classes];
  const double sum = @name@_gaps(x, gaps, p);
  for (int c = 0; c < @name@_classes; ++c) p[c] /= sum;
}

/* The log-odds of a class against all others. */
static inline double @name@_against_rest(const double *logs, int own) {
  const double largest = @name@_largest(logs, own);
  double sum = 0;
  for (int c = 0; c < @name@_classes; ++c) {
    if (c != own && largest > -INFINITY) sum += exp(logs[c] - largest);
  }
  const double odds = logs[own] - (log(sum) + largest);
  return isnan(odds) ? 0 : odds;
}

/* part / (part + rest); 0 / 0 is what is said. */
static inline double @name@_share(double part, double rest, double undefined) {
  if (!(part > 0 || rest > 0)) return undefined;
  return 1 / (1 + rest / part);
}

/* The answers for all classes. */
static inline void @name@_read(const double *scores, @name@_answer *answers) {
  const int size = @name@_classes;
  double rest[@name@_classes][@name@_models]; /* what the rules read */
@declared@  for (int c = 0; c < size; ++c) {
    answers[c].lower = answers[c].upper = answers[c].probability = NAN;
  }
  if (!@is_loaded@) return;
  for (int k = 0; k < @name@_models; ++k) {
    const double *given = scores + k * size;
    double logits[@name@_classes], total = 0;
    for (int c = 0; c < size; ++c) {
      if (!(@least@ <= given[c] && given[c] <= @greatest@)) return;
      total += given[c];
      logits[c] = @logit@;
    }
    if (@is_probability@ && !(fabs(total - 1) <= @tolerance@)) return;
    (void)total;
@model@    for (int c = 0; c < size; ++c) rest[c][k] = @rest@;
  }
  double sum = 0, lower = 0, upper = 0;
  for (int c = 0; c < size; ++c) {
    answers[c] = @name@_rule((size_t)c, rest[c]);
    sum += answers[c].probability;
  }
  @name@_answer boxes[@name@_classes];
  for (int c = 0; c < size; ++c) {
    lower = upper = 0;
    for (int j = 0; j < size; ++j) {
      if (j != c) lower += answers[j].lower, upper += answers[j].upper;
    }
    boxes[c].lower = @name@_share(answers[c].lower, upper, 0);
    boxes[c].upper = @name@_share(answers[c].upper, lower, 1);
    boxes[c].probability = answers[c].probability / sum;
  }
@mixed@  for (int c = 0; c < size; ++c) {
    answers[c].lower = fmin(boxes[c].lower, boxes[c].probability);
    answers[c].upper = fmax(boxes[c].upper, boxes[c].probability);
    answers[c].probability = boxes[c].probability;
  }
}
