// Capital that is spread over bets, and jumps between them.
//
// Input:   weights >= 0, a row of `n_bets` for each rate; rates in [0, 1]; for each round the
//          factors >= 0 by which the bets multiply what is placed on them.
// Memory:  the caller's.
// Failure: none.
// Cost:    a few operations for each rate, bet and round.
//
// Before a round each rate moves a share of its capital, J, from where it lies to all bets
// alike: so J = 0 is a mixture of the bets, and a larger J finds one that has begun to win only
// now. Where every factor has mean 1 given the past, so has the whole; what is rounded to 0 here
// can only make it smaller. The total is given by its logarithm: it may exceed a double.
#pragma once

#include <cmath>
#include <cstddef>

namespace abers {

constexpr double kLargestCapital = 1e100;   // before weights are scaled down
constexpr double kSmallestWeight = 1e-250;  // below it arithmetic would be slow

// Returns the logarithm of the scale of the weights, which was `log_scale`.
inline double jump(const double* rates, std::size_t n_rates, std::size_t n_bets,
                   const double* factors, std::size_t n_rounds, double* weights,
                   double log_scale, double* log_capital) {
  for (std::size_t round = 0; round < n_rounds; ++round) {
    const double* factor = factors + round * n_bets;
    double capital = 0;
    for (std::size_t r = 0; r < n_rates; ++r) {
      double* weight = weights + r * n_bets;
      double placed = 0;
      for (std::size_t b = 0; b < n_bets; ++b) placed += weight[b];
      const double moved = rates[r] * placed / static_cast<double>(n_bets);
      for (std::size_t b = 0; b < n_bets; ++b) {
        const double won = ((1 - rates[r]) * weight[b] + moved) * factor[b];
        weight[b] = won < kSmallestWeight ? 0 : won;
        capital += weight[b];
      }
    }
    log_capital[round] = log_scale + std::log(capital);
    if (capital > kLargestCapital) {
      for (std::size_t i = 0; i < n_rates * n_bets; ++i) weights[i] /= capital;
      log_scale += std::log(capital);
    }
  }
  return log_scale;
}

}  // namespace abers
