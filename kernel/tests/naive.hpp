// The definition, as slowly as it can be written: isotonic regression refitted with the
// test object, by the max-min formula. Shares no code with the kernel.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace naive {

struct Observation {
  double score;
  int label;
};

// The value at `s` of isotonic regression on `data` plus (s, label): the maximum over
// starts a of the minimum over ends b of the average label of all scores in [a, b],
// where a <= s <= b. One correctly rounded division at the end.
inline double refit(std::vector<Observation> data, double s, int label) {
  data.push_back({s, label});
  std::vector<double> keys;
  for (const auto& d : data) keys.push_back(d.score);
  std::sort(keys.begin(), keys.end());
  std::pair<long, long> best{-1, 1};  // ones, total
  for (double a : keys) {
    if (a > s) continue;
    std::pair<long, long> least{2, 1};
    for (double b : keys) {
      if (b < s) continue;
      long ones = 0, total = 0;
      for (const auto& d : data) {
        if (d.score >= a && d.score <= b) {
          ones += d.label;
          ++total;
        }
      }
      if (ones * least.second < least.first * total) least = {ones, total};
    }
    if (least.first * best.second > best.first * least.second) best = least;
  }
  return static_cast<double>(best.first) / static_cast<double>(best.second);
}

}  // namespace naive
