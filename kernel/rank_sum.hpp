// Does the score order the labels? Mann and Whitney's statistic, and what it would
// scatter like if labels were dealt at random.
//
// Input:   two sorted classes, or a diagram.
// Memory:  none.
// Failure: none. Pairs are counted in doubles: exactly, up to 2^52 of them.
// Cost:    linear in the number of distinct scores.
//
// A midrank is the share of the rows below a score, those at the score counting half. The
// mean of all midranks is one half; their spread around it says how far the mean midrank
// of some rows drawn at random may be from there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "diagram.hpp"

namespace abers {

struct RankSum {
  double in_order = 0;  // pairs of a zero and a higher one; a tie counts half
  double zeros = 0, ones = 0;
  double tied = 0;  // chance that two rows, drawn with replacement, have one score
  double variance = 0, third = 0, fourth = 0;  // central moments of all midranks

  // The next higher score; `total` is the weight of all rows.
  void add(double zero, double one, double total) {
    const double weight = zero + one;
    const double from_middle = (zeros + ones + weight / 2) / total - 0.5;
    const double moment = weight / total * from_middle * from_middle;
    in_order += one * (zeros + zero / 2);
    tied += weight / total * (weight / total);
    variance += moment;
    third += moment * from_middle;
    fourth += moment * from_middle * from_middle;
    zeros += zero;
    ones += one;
  }
};

inline RankSum rank_sum(const Classes& classes) {
  RankSum sum;
  const auto total = static_cast<double>(classes.total());
  for_each_distinct(classes, [&](double, std::size_t n, std::size_t y) {
    sum.add(static_cast<double>(n), static_cast<double>(y), total);
  });
  return sum;
}

inline RankSum rank_sum(const std::int64_t* negatives, const std::int64_t* positives,
                        std::size_t size) {
  double total = 0;
  for (std::size_t i = 0; i < size; ++i) {
    total += static_cast<double>(negatives[i]) + static_cast<double>(positives[i]);
  }
  RankSum sum;
  for (std::size_t i = 0; i < size; ++i) {
    sum.add(static_cast<double>(negatives[i]), static_cast<double>(positives[i]), total);
  }
  return sum;
}

}  // namespace abers
