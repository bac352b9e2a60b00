// The root of a slope function: Newton's steps, and a search whose length is bounded.
//
// Input:   chosen(t), the set that is chosen at the slope t, as the vector of its masses: phi(t)
//          is its y - t (n + y), and phi falls; a first guess; D, which no denominator of the
//          root exceeds.
// Memory:  a few small values.
// Failure: none.
// Cost:    some two to five evaluations of `chosen`; after kNewtonSteps at most 4 log2 D + 5 more.
//
// *Newton.* From t, go to the slope of the set that is chosen there. pooled.hpp proves that no
// step leaves the bracket of the points tried before; how many there are is not known.
//
// *The bound.* After kNewtonSteps the Stern-Brocot tree is searched instead, in (n, y): from
// low = (1, 0), slope 0, and high = (0, 1), slope 1, one end moves by multiples of the other,
// first doubling, then halving the number of multiples, until it would pass the root; then the
// other end moves. Every fraction strictly between the ends has a denominator of at least the sum
// of theirs, so a root with a denominator up to D is met before the sum exceeds D. Let a_i be the
// multiples in the i-th run, at least 1 but for the first, and w_i = a_i w_(i-1) + w_(i-2) the
// denominator of the end that moved; in the last run, of the root. A run costs at most
// 2 log2 a_i + 2 evaluations; two in a row cost 2 log2 x + 4 with x = a_i a_(i-1), and
// w_i >= (x + 1) w_(i-2). As 2 log2 x + 4 <= 4 log2 (x + 1) for x >= 1, two runs cost no more
// than 4 log2 (w_i / w_(i-2)). With a run that has no partner (2), an empty first run (1) and
// the two ends themselves that is 4 log2 D + 5. Products stay as wide as Newton's.
#pragma once

#include <cstdint>

#include "geometry.hpp"

namespace abers {

// Newton's steps before the search whose length is bounded takes over.
constexpr int kNewtonSteps = 24;

template <class T, class Chosen>
Step<T> searched(Chosen chosen, T largest) {
  Step<T> set{0, 0};
  const auto sign_of_phi = [&](Step<T> t) {
    set = chosen(t);
    return steeper(set, t) ? 1 : steeper(t, set) ? -1 : 0;
  };
  const auto along = [](Step<T> from, Step<T> by, T times) {
    return Step<T>{static_cast<T>(from.n + times * by.n),
                   static_cast<T>(from.y + times * by.y)};
  };
  Step<T> low{1, 0}, high{0, 1};
  if (sign_of_phi(low) == 0 || sign_of_phi(high) == 0) return set;
  for (int side = 1;; side = -side) {
    Step<T>& moved = side > 0 ? low : high;
    const Step<T> other = side > 0 ? high : low;
    // The end may move by `good` multiples of the other, and not by `bad`.
    const T most = (largest - moved.n - moved.y) / (other.n + other.y);
    T good = 0, bad = most + 1;
    while (good + 1 < bad) {
      const T tried = bad <= most        ? good + (bad - good) / 2
                      : good == 0        ? 1
                      : good <= most / 2 ? 2 * good
                                         : most;
      const int sign = sign_of_phi(along(moved, other, tried));
      if (sign == 0) return set;
      (sign == side ? good : bad) = tried;
    }
    moved = along(moved, other, good);
  }
}

template <class T, class Chosen>
Step<T> root_of(Chosen chosen, Step<T> start, T largest, int newton_steps) {
  Step<T> t = start;
  for (int step = 0; step < newton_steps; ++step) {
    const Step<T> set = chosen(t);
    if (!steeper(set, t) && !steeper(t, set)) return set;
    t = set;
  }
  return searched<T>(chosen, largest);
}

}  // namespace abers
