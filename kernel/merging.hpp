// Merge the bounds of K folds into one probability: minimax for log loss (Algorithm 7) or
// for Brier loss.
//
// Input:   bounds as (K, n, 2), each 0 <= p0 <= p1 <= 1.
// Memory:  the caller owns input and output.
// Failure: none.
// Cost:    log: 2 K products, one logarithm and one exponential per row; Brier: less.
//
// Log loss: p = GM(p1) / (GM(1-p0) + GM(p1)) = 1 / (1 + r), where r is the K-th root of the
// ratio R of the products. A product of K doubles has a relative error of about K
// half-ulps, and the root divides it by K again: better than a sum of logarithms, whose
// absolute error is that of the largest one. The products keep their exponents apart, so
// that no number of folds can underflow. With R = m 2^e and e = q K + f,
// r = 2^q * 2^((log2(m) + f) / K): the second exponent is of the order of 1, hence accurate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "lookup.hpp"
#include "rule.hpp"

namespace abers {

enum class Loss { log, brier };

// A product of numbers in [0, 1] as value * 2^exponent. Scaling by powers of two is exact
// and rarely needed: the value stays above 2^-500, so that a factor above 2^-500 cannot
// make it underflow.
struct Scaled {
  double value = 1;
  int exponent = 0;

  void multiply(double x) {
    if (x < 0x1p-500) {
      x *= 0x1p600;
      exponent -= 600;
    }
    value *= x;
    if (value < 0x1p-500) {
      value *= 0x1p500;
      exponent -= 500;
    }
  }

  void normalise() {  // the value into [1/2, 1)
    int e;
    value = std::frexp(value, &e);
    exponent += e;
  }
};

inline double root_of_ratio(Scaled a, Scaled b, std::size_t folds) {
  const int k = static_cast<int>(folds);
  const double mantissa = a.value / b.value;  // in (1/2, 2)
  const int exponent = a.exponent - b.exponent;
  const double root = std::exp2((std::log2(mantissa) + exponent % k) / k);
  return exponent / k == 0 ? root : std::ldexp(root, exponent / k);
}

inline double log_minimax(Scaled ones, Scaled zeros, std::size_t folds) {
  // Both means zero: every p between the two ends is as bad; the paper's rule is 0/0.
  if (ones.value == 0) return zeros.value == 0 ? 0.5 : 0;
  if (zeros.value == 0) return 1;
  ones.normalise();
  zeros.normalise();
  if (zeros.exponent > ones.exponent) {  // the ratio might overflow, its inverse cannot
    const double inverse = root_of_ratio(ones, zeros, folds);
    return inverse / (1 + inverse);
  }
  return 1 / (1 + root_of_ratio(zeros, ones, folds));
}

// One pair: the formulas of core/merging.py, to the bit. Where the bounds nearly meet,
// rounding could leave them by an ulp.
inline double log_minimax(Pair p) {
  return std::clamp(p.upper / ((1 - p.lower) + p.upper), p.lower, p.upper);
}

inline double brier_minimax(Pair p) {
  return p.upper + (p.lower - p.upper) * (p.lower + p.upper) / 2;
}

// bounds[k * size + i] -> out[i]
inline void merge_folds(const Pair* bounds, std::size_t folds, std::size_t size, Loss loss,
                        double* out) {
  for (std::size_t i = 0; i < size; ++i) {
    if (loss == Loss::brier) {
      double sum = 0, lost = 0;  // Kahan's: the error stays that of one addition
      for (std::size_t k = 0; k < folds; ++k) {
        const double term = brier_minimax(bounds[k * size + i]) - lost;
        const double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
      }
      out[i] = sum / static_cast<double>(folds);
    } else if (folds == 1) {
      out[i] = log_minimax(bounds[i]);
    } else {
      Scaled ones, zeros;
      for (std::size_t k = 0; k < folds; ++k) {
        zeros.multiply(1 - bounds[k * size + i].lower);
        ones.multiply(bounds[k * size + i].upper);
      }
      out[i] = log_minimax(ones, zeros, folds);
    }
  }
}

struct Fold {  // a rule, and the scores that its own classifier gives the same objects
  RuleView rule;
  const Index* index;
  const double* scores;
};

// Read K rules and merge what they say, a few thousand rows at a time, so that the bounds
// stay in the cache and never exist for all rows together.
inline Missing merge_rules(const std::vector<Fold>& folds, std::size_t size, Loss loss,
                           double* out) {
  constexpr std::size_t kRows = 2048;
  std::vector<Pair> buffer(folds.size() * std::min(kRows, size));
  Missing missing;
  for (std::size_t from = 0; from < size; from += kRows) {
    const std::size_t rows = std::min(kRows, size - from);
    for (std::size_t k = 0; k < folds.size(); ++k) {
      const Missing here = bounds(folds[k].rule, *folds[k].index, folds[k].scores + from,
                                  rows, buffer.data() + k * rows);
      if (missing.count == 0) missing.first = from + here.first;
      missing.count += here.count;
    }
    merge_folds(buffer.data(), folds.size(), rows, loss, out + from);
  }
  return missing;
}

}  // namespace abers
