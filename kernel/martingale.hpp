// A test martingale: capital that grows if p-values that should be uniform are not.
//
// Input:   p-values, one after the other.
// Memory:  one number for each bet.
// Failure: none.
// Cost:    some hundred nanoseconds a p-value.
//
// If the p-values are independent and uniform, a bet multiplies its capital by
// 1 + e (u - 1/2), |e| < 2, whose mean is 1: u is p itself, or |2p - 1|, which is uniform as
// well and tells p-values that avoid the middle, or seek it. Which e is good is not known, nor
// when the p-values change. So capital is spread over several e, 0 among them, and before each
// row a share J of all is spread anew (the simple jumper of Vovk and others, 2021); the mean over
// several J is the capital. All this depends on earlier p-values only, so the capital is a
// martingale that begins with 1, and by Ville's inequality the chance that it ever reaches
// 1 / alpha is at most alpha.
//
// Capitals are kept as shares of their sum and the logarithm of the sum: they neither vanish nor
// leave the doubles, however long the stream.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace abers {

class Martingale {
 public:
  static constexpr std::array<double, 3> kJumps{0, 1e-4, 1e-3};
  static constexpr std::array<double, 7> kBets{-1.2, -0.6, -0.3, 0, 0.3, 0.6, 1.2};
  static constexpr std::size_t kShares = 2 * kBets.size();
  static constexpr std::size_t kState = kJumps.size() * (1 + kShares);

  Martingale() {
    for (Jumper& jumper : jumpers_) jumper.shares.fill(1.0 / kShares);
  }

  void update(double p) {
    std::array<double, kShares> factors;
    for (std::size_t e = 0; e < kBets.size(); ++e) {
      factors[2 * e] = 1 + kBets[e] * (p - 0.5);
      factors[2 * e + 1] = 1 + kBets[e] * (std::abs(2 * p - 1) - 0.5);
    }
    for (std::size_t j = 0; j < kJumps.size(); ++j) {
      Jumper& jumper = jumpers_[j];
      double sum = 0;
      for (std::size_t i = 0; i < kShares; ++i) {
        double& share = jumper.shares[i];
        share = ((1 - kJumps[j]) * share + kJumps[j] / kShares) * factors[i];
        sum += share;
      }
      for (double& share : jumper.shares) share /= sum;
      jumper.log_capital += std::log(sum);
    }
  }

  double log_capital() const {
    double most = jumpers_[0].log_capital, sum = 0;
    for (const Jumper& jumper : jumpers_) most = std::max(most, jumper.log_capital);
    for (const Jumper& jumper : jumpers_) sum += std::exp(jumper.log_capital - most);
    return most + std::log(sum / kJumps.size());
  }

  // All that the future depends on.
  void write(double* state) const {
    for (const Jumper& jumper : jumpers_) {
      *state++ = jumper.log_capital;
      state = std::copy(jumper.shares.begin(), jumper.shares.end(), state);
    }
  }
  void read(const double* state) {
    for (Jumper& jumper : jumpers_) {
      jumper.log_capital = *state++;
      std::copy(state, state + kShares, jumper.shares.begin());
      state += kShares;
    }
  }

 private:
  struct Jumper {
    double log_capital = 0;
    std::array<double, kShares> shares{};
  };
  std::array<Jumper, kJumps.size()> jumpers_;
};

}  // namespace abers
