// Read the rule: from a score to its piece.
//
// Input:   ascending thresholds without NaN; scores that may be NaN.
// Memory:  the caller owns thresholds, values and the output.
// Failure: none; scores that are NaN get NaN bounds and are counted.
// Cost:    one binary search a score.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>

namespace abers {

struct RuleView {  // a rule whose arrays somebody else owns
  const double* thresholds;
  std::size_t size;  // of thresholds; the values have one more
  const double* lower;
  const double* upper;

  std::size_t piece(double score) const {
    return static_cast<std::size_t>(
        std::upper_bound(thresholds, thresholds + size, score) - thresholds);
  }
};

struct Missing {
  std::size_t count = 0;
  std::size_t first = 0;  // a row, from 0; meaningful if count is not 0
};

// out[2 i] and out[2 i + 1] become the lower and the upper bound of scores[i].
inline Missing bounds(const RuleView& rule, const double* scores, std::size_t size,
                      double* out) {
  Missing missing;
  for (std::size_t i = 0; i < size; ++i) {
    const double s = scores[i];
    if (s != s) {
      if (missing.count++ == 0) missing.first = i;
      out[2 * i] = out[2 * i + 1] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    const std::size_t j = rule.piece(s);
    out[2 * i] = rule.lower[j];
    out[2 * i + 1] = rule.upper[j];
  }
  return missing;
}

}  // namespace abers
