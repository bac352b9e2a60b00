// Merge the bounds of K folds by the log-minimax rule (Algorithm 7).
//
// Input:   bounds as (K, n, 2), each 0 <= p0 <= p1 <= 1.
// Memory:  the caller owns input and output.
// Failure: none.
// Cost:    K products, one logarithm and one exponential a row.
//
// p = GM(p1) / (GM(1-p0) + GM(p1)) = 1 / (1 + r), where r is the K-th root of the ratio R of
// the products. A product of K doubles has a relative error of about K half-ulps, and the
// root divides it by K again: better than a sum of logarithms, whose absolute error is
// that of the largest one. The products keep their exponents apart, so that no number of
// folds can underflow. With R = m 2^e and e = q K + f, r = 2^q * 2^((log2(m) + f) / K):
// the second exponent is of the order of 1, hence accurate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace abers {

struct Scaled {  // mantissa * 2^exponent; the mantissa is 0 or in [1/2, 1)
  double mantissa = 0.5;
  std::int64_t exponent = 1;

  void multiply(double x) {  // scaled first: a subnormal x keeps its bits
    int scale, carry;
    mantissa = std::frexp(mantissa * std::frexp(x, &scale), &carry);
    exponent += scale + carry;
  }
};

inline double root_of_ratio(Scaled a, Scaled b, std::size_t folds) {
  const auto k = static_cast<std::int64_t>(folds);
  const double mantissa = a.mantissa / b.mantissa;  // in (1/2, 2)
  const std::int64_t exponent = a.exponent - b.exponent;
  const auto rest = static_cast<double>(exponent % k);
  return std::ldexp(std::exp2((std::log2(mantissa) + rest) / static_cast<double>(k)),
                    static_cast<int>(exponent / k));
}

inline double merged_log_minimax(Scaled ones, Scaled zeros, std::size_t folds) {
  // Both means zero: every p between the two ends is as bad; the paper's rule is 0/0.
  if (ones.mantissa == 0 && zeros.mantissa == 0) return 0.5;
  if (ones.mantissa == 0) return 0;
  if (zeros.mantissa == 0) return 1;
  if (zeros.exponent > ones.exponent) {  // the ratio might overflow, its inverse cannot
    const double inverse = root_of_ratio(ones, zeros, folds);
    return inverse / (1 + inverse);
  }
  return 1 / (1 + root_of_ratio(zeros, ones, folds));
}

// bounds[(k * size + i) * 2 + side] -> out[i]
inline void merge_log_minimax(const double* bounds, std::size_t folds, std::size_t size,
                              double* out) {
  if (folds == 1) {  // the bits of the rule for one pair, core/merging.py
    for (std::size_t i = 0; i < size; ++i) {
      const double low = bounds[2 * i], up = bounds[2 * i + 1];
      out[i] = std::clamp(up / ((1 - low) + up), low, up);
    }
    return;
  }
  for (std::size_t i = 0; i < size; ++i) {
    Scaled ones, zeros;
    for (std::size_t k = 0; k < folds; ++k) {
      const double* pair = bounds + (k * size + i) * 2;
      zeros.multiply(1 - pair[0]);
      ones.multiply(pair[1]);
    }
    out[i] = merged_log_minimax(ones, zeros, folds);
  }
}

}  // namespace abers
