// The pooled rule: one isotonic regression on the star order of K folds, read at its centre.
//
// Input:   per fold the distinct scores, ascending, and counts or weights of the labels; rows
//          of K scores that may be NaN.
// Memory:  the caller owns scores and output; the rule owns its structure.
// Failure: std::bad_alloc; rows with a NaN get NaN bounds and are counted.
// Cost:    linear to build; a few evaluations a row.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "lookup.hpp"
#include "rule.hpp"
#include "star.hpp"

namespace abers {

template <class Mass>
struct FoldCounts {  // one fold, in arrays that somebody else owns
  const double* scores;
  const Mass* zeros;
  const Mass* ones;
  std::size_t size;
};

template <class Mass>
class Pooled {
 public:
  using T = std::conditional_t<std::is_same_v<Mass, double>, double, std::uint64_t>;

  Pooled() = default;

  // The postulated observation weighs postulate / scale. If probability falls, the caller
  // has exchanged the labels.
  Pooled(const std::vector<FoldCounts<Mass>>& folds, Mass scale, Mass postulate,
         Direction direction)
      : direction_(direction) {
    std::vector<StarFold<T>> chains;
    chains.reserve(folds.size());
    for (const auto& fold : folds) {
      chains.emplace_back(fold.scores, fold.zeros, fold.ones, fold.size);
    }
    star_ = Star<T>(std::move(chains), static_cast<T>(scale), static_cast<T>(postulate));
  }

  Missing bounds(const double* scores, std::size_t size, Pair* out) const {
    const std::size_t folds = star_.folds();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Missing missing;
    for (std::size_t i = 0; i < size; ++i) {
      const double* row = scores + i * folds;
      if (std::any_of(row, row + folds, [](double s) { return s != s; })) {
        if (missing.count++ == 0) missing.first = i;
        out[i] = {nan, nan};
      } else {
        out[i] = pair(star_.bound(row, 0), star_.bound(row, 1));
      }
    }
    return missing;
  }

  // The same by several threads, each with a share of the rows.
  Missing bounds(const double* scores, std::size_t size, Pair* out,
                 std::size_t n_threads) const {
    constexpr std::size_t kSmallestShare = 1 << 10;
    return shared_by_threads(n_threads, size, kSmallestShare,
                             [&](std::size_t from, std::size_t to) {
                               return bounds(scores + from * star_.folds(), to - from,
                                             out + from);
                             });
  }

 private:
  // If probability falls, the labels were exchanged, and each bound is one minus the other's
  // mirror, from the vector itself: rounded once.
  Pair pair(Step<T> zero, Step<T> one) const {
    Pair result = direction_ == Direction::increasing
                      ? Pair{slope(zero), slope(one)}
                      : Pair{complement(one), complement(zero)};
    // Acts on real weights only, where rounding may cross two nearly equal bounds.
    result.lower = std::min(result.lower, result.upper);
    return result;
  }

  Star<T> star_;
  Direction direction_ = Direction::increasing;
};

}  // namespace abers
