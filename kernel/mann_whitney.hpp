// Does the score order the labels? Mann and Whitney's statistic.
//
// Input:   two sorted classes.
// Memory:  none.
// Failure: none. Pairs are counted in doubles: exactly, up to 2^52 of them.
// Cost:    linear in the number of rows.
#pragma once

#include <cstddef>

#include "diagram.hpp"

namespace abers {

// Pairs of a zero and a higher one; a tie counts half.
inline double pairs_in_order(const Classes& classes) {
  double in_order = 0, below = 0;
  for_each_distinct(classes, [&](double, std::size_t zeros, std::size_t ones) {
    const auto zero = static_cast<double>(zeros);
    in_order += static_cast<double>(ones) * (below + zero / 2);
    below += zero;
  });
  return in_order;
}

}  // namespace abers
