// The definition, as slowly as it can be written: isotonic regression refitted with the
// test object, by the max-min formula. Shares no code with the kernel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

struct Mass {  // at one distinct score
  double score;
  std::int64_t zeros, ones;
};

// A product of two numbers below 2^63, as its high and its low 64 bits.
inline std::pair<std::uint64_t, std::uint64_t> product(std::int64_t a, std::int64_t b) {
  const auto high = [](std::int64_t x) { return static_cast<std::uint64_t>(x) >> 32; };
  const auto low = [](std::int64_t x) {
    return static_cast<std::uint64_t>(x) & 0xFFFFFFFF;
  };
  const std::uint64_t lows = low(a) * low(b);
  const std::uint64_t middle = high(a) * low(b) + (lows >> 32);
  const std::uint64_t crossed = low(a) * high(b) + (middle & 0xFFFFFFFF);
  return {high(a) * high(b) + (middle >> 32) + (crossed >> 32),
          crossed << 32 | (lows & 0xFFFFFFFF)};
}

// refit() of masses, with a test object that weighs `postulate`.
inline double refit(std::vector<Mass> masses, double s, int label, std::int64_t postulate) {
  masses.push_back({s, label == 0 ? postulate : 0, label == 0 ? 0 : postulate});
  std::pair<std::int64_t, std::int64_t> best{0, 1};  // ones, total
  for (const Mass& a : masses) {
    if (a.score > s) continue;
    std::pair<std::int64_t, std::int64_t> least{1, 1};
    for (const Mass& b : masses) {
      if (b.score < s) continue;
      std::int64_t ones = 0, total = 0;
      for (const Mass& mass : masses) {
        if (mass.score >= a.score && mass.score <= b.score) {
          ones += mass.ones;
          total += mass.zeros + mass.ones;
        }
      }
      if (product(ones, least.second) < product(least.first, total)) least = {ones, total};
    }
    if (product(least.first, best.second) > product(best.first, least.second)) best = least;
  }
  return static_cast<double>(best.first) / static_cast<double>(best.second);
}

// All sums (zeros, ones) of one start of each arm.
using Sums = std::vector<std::pair<std::int64_t, std::int64_t>>;

inline Sums with_arm(const Sums& sums, const std::vector<Mass>& arm) {
  Sums all;
  for (auto [n, y] : sums) {
    all.push_back({n, y});
    for (const Mass& mass : arm) all.push_back({n += mass.zeros, y += mass.ones});
  }
  return all;
}

// The value at the centre of the star, for a centre of weight p / q: the maximum over upper
// sets of the minimum over lower sets of the average label of what they share.
inline double pooled(const std::vector<std::vector<Mass>>& folds,
                     const std::vector<double>& row, int label, std::int64_t p,
                     std::int64_t q) {
  Sums below{{0, 0}}, above{{0, 0}};
  std::int64_t zeros = label == 0 ? p : 0, ones = label == 0 ? 0 : p;
  for (std::size_t k = 0; k < folds.size(); ++k) {
    std::vector<Mass> down, up;
    for (const Mass& mass : folds[k]) {
      if (mass.score == row[k]) {
        zeros += q * mass.zeros;
        ones += q * mass.ones;
      } else {
        (mass.score < row[k] ? down : up).push_back(mass);
      }
    }
    std::reverse(down.begin(), down.end());
    below = with_arm(below, down);
    above = with_arm(above, up);
  }
  std::pair<std::int64_t, std::int64_t> best{-1, 1};  // ones, total
  for (const auto& [n0, y0] : below) {
    std::pair<std::int64_t, std::int64_t> least{2, 1};
    for (const auto& [n1, y1] : above) {
      const std::int64_t y = ones + q * (y0 + y1), total = zeros + q * (n0 + n1) + y;
      if (y * least.second < least.first * total) least = {y, total};
    }
    if (least.first * best.second > best.first * least.second) best = least;
  }
  return static_cast<double>(best.first) / static_cast<double>(best.second);
}

struct Vector {  // an observation with several scores, or several alike
  std::vector<double> scores;
  std::int64_t zeros, ones;
};

inline bool is_below(const Vector& a, const Vector& b) {
  for (std::size_t c = 0; c < a.scores.size(); ++c) {
    if (a.scores[c] > b.scores[c]) return false;
  }
  return true;
}

// The value at a row of the regression on the partial order: the maximum over upper sets, the
// minimum over lower sets, of the average label of what they share. All subsets are tried.
inline double partial(std::vector<Vector> data, const std::vector<double>& row, int label) {
  data.push_back({row, 1 - label, label});
  const std::size_t size = data.size();
  std::vector<std::uint32_t> above(size, 0), below(size, 0), uppers, lowers;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      if (is_below(data[i], data[j])) above[i] |= 1u << j;
      if (is_below(data[j], data[i])) below[i] |= 1u << j;
    }
  }
  for (std::uint32_t set = 1u << (size - 1); set < 1u << size; ++set) {  // with the row
    bool is_upper = true, is_lower = true;
    for (std::size_t i = 0; i < size; ++i) {
      if ((set >> i & 1) == 0) continue;
      is_upper = is_upper && (above[i] & ~set) == 0;
      is_lower = is_lower && (below[i] & ~set) == 0;
    }
    if (is_upper) uppers.push_back(set);
    if (is_lower) lowers.push_back(set);
  }
  std::pair<std::int64_t, std::int64_t> best{-1, 1};  // ones, total
  for (const std::uint32_t upper : uppers) {
    std::pair<std::int64_t, std::int64_t> least{2, 1};
    for (const std::uint32_t lower : lowers) {
      std::int64_t ones = 0, total = 0;
      for (std::size_t i = 0; i < size; ++i) {
        if ((upper & lower) >> i & 1) {
          ones += data[i].ones;
          total += data[i].zeros + data[i].ones;
        }
      }
      if (ones * least.second < least.first * total) least = {ones, total};
    }
    if (least.first * best.second > best.first * least.second) best = least;
  }
  return static_cast<double>(best.first) / static_cast<double>(best.second);
}

}  // namespace naive
