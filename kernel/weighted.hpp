// The rule for real weights: the same geometry without a single subtraction.
//
// Input:   per distinct score the weight of label 0 and of label 1, not both 0; finite.
// Memory:  the caller owns the inputs; the table owns its arrays.
// Failure: std::bad_alloc.
// Cost:    linear: every score enters a block, a suffix sum and a window once.
//
// Differences of cumulated weights lose digits: with one weight of 1e12 among small ones,
// all of them. So vectors are never differences of points here, but sums of the weights
// between them, and sums of non-negative numbers keep their relative accuracy. Three
// changes against records.hpp follow. The minorant is found by pooling adjacent blocks.
// The bridge, A to C + D, is the sum of a window of scores that moves right at both ends,
// kept as a queue of suffix sums plus what was added since. And a point is strictly below
// the bridge if the piece behind it is less steep than the piece *ahead* of it, which is
// the same condition and compares two independent sums. The mirror of f1 gives f0 with
// both of its weights, so p and 1 - p are equally accurate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "rule.hpp"

namespace abers {

// Is a * b > c * d for non-negative doubles, wherever their exponents lie? The products
// are compared directly if none can overflow or lose bits to underflow.
inline bool product_exceeds(double a, double b, double c, double d) {
  const double left = a * b, right = c * d;
  constexpr double tiny = 1e-290, huge = 1e290;
  if (left < huge && right < huge && (left > tiny || right > tiny)) return left > right;
  if (left == 0 && (a == 0 || b == 0)) return false;
  if (right == 0 && (c == 0 || d == 0)) return true;
  int ea, eb, ec, ed;
  const double ab = std::frexp(a, &ea) * std::frexp(b, &eb);
  const double cd = std::frexp(c, &ec) * std::frexp(d, &ed);
  return std::ldexp(ab, (ea + eb) - (ec + ed)) > cd;
}

inline bool steeper(Step<double> u, Step<double> v) {
  return product_exceeds(u.y, v.n, v.y, u.n);
}

// y / (n + y) is rounded twice; near 1, where that would cost digits of 1 - p, the smaller
// part is divided and taken from 1.
inline double share(double part, double rest) {
  return part <= rest ? part / (part + rest) : 1 - rest / (part + rest);
}

inline double slope(Step<double> v) { return share(v.y, v.n); }
inline double complement(Step<double> v) { return share(v.n, v.y); }

// The weights as label 1 sees them, left to right, or as label 0 does, in the mirror.
struct Weights {
  const double* negatives;
  const double* positives;
  std::size_t size;
  bool mirrored;

  Step<double> operator[](std::size_t i) const {
    if (mirrored) return {positives[size - 1 - i], negatives[size - 1 - i]};
    return {negatives[i], positives[i]};
  }
};

struct Block {  // an edge of the minorant: the scores up to `end`, and their sum
  std::size_t end;
  Step<double> sum;
};

// Pool adjacent violators: the edges of the minorant, slopes strictly increasing.
inline std::vector<Block> pooled_blocks(const Weights& weights) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < weights.size; ++i) {
    Block block{i + 1, weights[i]};
    while (!blocks.empty() && !steeper(block.sum, blocks.back().sum)) {
      block.sum = blocks.back().sum + block.sum;
      blocks.pop_back();
    }
    blocks.push_back(block);
  }
  return blocks;
}

// records() of records.hpp on sums. `ahead` is the window from the current gap to C, plus D.
template <class Emit>
void weighted_records(const Weights& weights, Emit emit) {
  const std::vector<Block> blocks = pooled_blocks(weights);
  const Step<double> label_one{0, 1};

  // The window is suffix[g] (scores g .. split - 1) plus `since` (scores split .. C - 1).
  std::vector<Step<double>> suffix(weights.size + 1, Step<double>{0, 0});
  std::size_t split = 0;
  Step<double> since{0, 0};
  std::size_t next_block = 0;

  const auto ahead = [&](std::size_t g) { return suffix[g] + since + label_one; };
  const auto extend = [&](std::size_t g) {
    while (next_block < blocks.size() && !steeper(blocks[next_block].sum, ahead(g))) {
      since = since + blocks[next_block++].sum;
    }
  };
  const auto rebuild = [&](std::size_t g) {  // all suffixes are used up: sum a new batch
    split = next_block > 0 ? blocks[next_block - 1].end : 0;
    suffix[split] = {0, 0};
    for (std::size_t i = split; i-- > g;) suffix[i] = weights[i] + suffix[i + 1];
    since = {0, 0};
  };

  extend(0);
  emit(std::size_t{0}, ahead(0));
  Step<double> behind{0, 0};  // scores from the active corner to the current gap
  for (std::size_t g = 1; g <= weights.size; ++g) {
    if (g > split) rebuild(g - 1);
    behind = behind + weights[g - 1];
    if (!steeper(ahead(g), behind)) continue;
    behind = {0, 0};
    extend(g);
    emit(g, ahead(g));
  }
}

// Rounding may make a value that should grow fall by an ulp; the rule promises monotone.
inline void make_monotone(Bound& bound, Direction direction) {
  double running = bound.first;
  for (double& value : bound.values) {
    running = direction == Direction::increasing ? std::max(running, value)
                                                 : std::min(running, value);
    value = running;
  }
}

template <class Keys>
Table fit_weights(const Keys& keys, const double* negatives, const double* positives,
                  std::size_t size, Direction direction) {
  const auto run = [&](bool mirrored) {
    return [=](auto emit) {
      weighted_records(Weights{negatives, positives, size, mirrored}, emit);
    };
  };
  const Range range{0, size, size};
  Bounds bounds{left_continuous<double>(run(false), keys, range, direction),
                right_continuous<double>(run(true), keys, range, direction)};
  make_monotone(bounds.left, direction);
  make_monotone(bounds.right, direction);
  return assemble(std::move(bounds), direction);
}

}  // namespace abers
