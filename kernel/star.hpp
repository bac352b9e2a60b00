// Isotonic regression at the centre of the star order, on sums: for real weights, and the
// plain version that pooled.hpp is tested against.
//
// Input:   per fold the distinct scores, ascending, and the masses of label 0 and label 1,
//          not both 0; the mass of the postulated observation; rows of K scores.
// Memory:  the star owns its forests; the caller owns the distinct scores, and keeps them.
// Failure: std::bad_alloc; a row with a NaN gets some bounds, and is the caller's to find.
// Cost:    linear to build; the logarithm of a fold for each evaluation.
//
// The K folds are chains, each ordered by the scores of its own model, and all of them run
// through the test object, the centre. Let h_t(P) = y - t (n + y) on the cumulated points P of
// a chain, a the number of its keys below the score asked for, b of those not above it. The
// upper sets that hold the centre choose in each chain, independently, how far down to go, and
// the lower sets how far up, so the value t of the regression at the centre, which has label l
// and weight v, is the root of
//
//   phi(t) = v (l - t) + sum over chains of [min over j >= b of h_t(P_j)
//                                            - min over i <= a of h_t(P_i)],
//
// continuous and strictly decreasing. The minima sit on convex chains: to the right of b the
// minorant of P_b, P_b+1, …, to the left of a that of P_0 … P_a. Graham's scan leaves all of
// them as two forests of links, one node a point; a link carries the sum of the masses that it
// skips, so that a chosen set is a sum of non-negative numbers and keeps its relative accuracy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "geometry.hpp"
#include "keys.hpp"
#include "memory.hpp"
#include "rule.hpp"
#include "slope_search.hpp"
#include "weighted.hpp"

namespace abers {

// A block of real weights is taken only if its odds y / n differ from those of t by more than
// this margin, relative. Sums are rounded: a heavy block whose slope agrees with t up to
// rounding says nothing about the sign of phi, yet would drown the light ones that do. Left
// out, it moves the root by no more than the margin: beyond that it is taken, and its sign
// is certain.
constexpr double kMargin = 0x1p-44;

template <class T>
bool clearly_steeper(Step<T> u, Step<T> v) {
  return steeper(u, v);
}
inline bool clearly_steeper(Step<double> u, Step<double> v) {
  return product_exceeds(u.y, v.n, v.y * (1 + kMargin), u.n);
}

template <class T>
struct StarFold {
  // A link to the next corner, and a jump over many (skew-binary, as Myers's random-access
  // lists): the jumps make a walk along any chain logarithmic.
  struct Node {
    std::uint32_t next, jump;
    std::uint32_t depth;
    Step<T> sum, jump_sum;  // of the masses skipped
  };

  KeyCells keys;
  std::uint32_t size;
  Vector<Node> right, left;  // one more than keys
  Vector<Step<T>> masses;

  template <class Mass>
  StarFold(const double* scores, const Mass* zeros, const Mass* ones, std::size_t count)
      : keys(scores, count),
        size(static_cast<std::uint32_t>(count)),
        right(count + 1),
        left(count + 1) {
    const auto mass = [&](std::size_t i) {
      return Step<T>{static_cast<T>(zeros[i]), static_cast<T>(ones[i])};
    };
    const std::uint32_t end = size;
    right[end] = {end, end, 0, {0, 0}, {0, 0}};
    left[0] = {0, 0, 0, {0, 0}, {0, 0}};
    for (std::uint32_t i = end; i-- > 0;) {
      Step<T> sum = mass(i);
      std::uint32_t next = i + 1;
      while (next != end && !steeper(right[next].sum, sum)) {
        sum = sum + right[next].sum;
        next = right[next].next;
      }
      link(right, i, next, sum);
    }
    for (std::uint32_t i = 1; i <= end; ++i) {
      Step<T> sum = mass(i - 1);
      std::uint32_t next = i - 1;
      while (next != 0 && !steeper(sum, left[next].sum)) {
        sum = sum + left[next].sum;
        next = left[next].next;
      }
      link(left, i, next, sum);
    }
    masses.reserve(size);
    for (std::size_t i = 0; i < size; ++i) masses.push_back(mass(i));
  }

  std::size_t bytes() const {
    return 2 * right.size() * sizeof(Node) + masses.size() * sizeof(Step<T>) + keys.bytes();
  }

  // The masses of the part above the centre that a lower set takes at t, and of the part
  // below that an upper set takes.
  Step<T> above(std::uint32_t b, Step<T> t) const {
    return walk(right, b, size, [t](Step<T> sum) { return clearly_steeper(t, sum); });
  }
  Step<T> below(std::uint32_t a, Step<T> t) const {
    return walk(left, a, 0, [t](Step<T> sum) { return clearly_steeper(sum, t); });
  }

 private:
  static void link(Vector<Node>& nodes, std::uint32_t i, std::uint32_t next, Step<T> sum) {
    const Node& parent = nodes[next];
    const Node& far = nodes[parent.jump];
    Node node{next, next, parent.depth + 1, sum, sum};
    if (parent.depth - far.depth == far.depth - nodes[far.jump].depth &&
        parent.jump != next) {
      node.jump = far.jump;
      node.jump_sum = sum + (parent.jump_sum + far.jump_sum);
    }
    nodes[i] = node;
  }

  // Slopes are monotone along a chain: if the link that leaves the target of a jump is
  // taken, so are all links that the jump skips.
  template <class Taken>
  static Step<T> walk(const Vector<Node>& nodes, std::uint32_t i, std::uint32_t end,
                      Taken taken) {
    Step<T> sum{0, 0};
    while (i != end) {
      const Node& node = nodes[i];
      if (node.jump != end && taken(nodes[node.jump].sum)) {
        sum = sum + node.jump_sum;
        i = node.jump;
      } else if (taken(node.sum)) {
        sum = sum + node.sum;
        i = node.next;
      } else {
        break;
      }
    }
    return sum;
  }
};

// The root for each label. T is std::uint64_t (exact) or double.
template <class T>
class Star {
 public:
  Star() = default;

  // The postulated observation weighs postulate / scale: masses count `scale` times.
  Star(std::vector<StarFold<T>>&& folds, T scale, T postulate)
      : folds_(std::move(folds)), scale_(scale), postulate_(postulate) {}

  std::size_t folds() const { return folds_.size(); }

  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& fold : folds_) total += fold.bytes();
    return total;
  }

  struct Spot {  // of a score in a fold
    Place place;
    Step<T> ties;
  };

  // The vectors whose slopes are the bounds, for one row of K scores; `spots` is scratch.
  std::pair<Step<T>, Step<T>> bounds(const double* scores, std::vector<Spot>& spots,
                                     int newton_steps = kNewtonSteps) const {
    spots.resize(folds_.size());
    Step<T> nearest{0, 0};  // a guess: what lies next to the centre
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      const StarFold<T>& fold = folds_[k];
      const Place place = fold.keys.place(scores[k]);
      const Step<T> ties = place.b > place.a ? fold.masses[place.a] : Step<T>{0, 0};
      spots[k] = {place, ties};
      nearest = nearest + ties + fold.right[place.b].sum + fold.left[place.a].sum;
    }
    const Step<T> is_zero{postulate_, 0}, is_one{0, postulate_};
    const Step<T> zero = root(spots, is_zero, scaled(nearest) + is_zero, newton_steps);
    return {zero, root(spots, is_one, zero + is_one, newton_steps)};
  }

 private:
  Step<T> scaled(Step<T> sum) const {
    return {static_cast<T>(sum.n * scale_), static_cast<T>(sum.y * scale_)};
  }

  // The set that is chosen at t: phi(t) is its y - t (n + y).
  Step<T> chosen(const std::vector<Spot>& spots, Step<T> doubt, Step<T> t) const {
    Step<T> sum{0, 0};
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      sum = sum + spots[k].ties + folds_[k].above(spots[k].place.b, t) +
            folds_[k].below(spots[k].place.a, t);
    }
    return scaled(sum) + doubt;
  }

  // Newton: the slope of the set chosen at t is the next t. Each step stays between the
  // best points on either side of the root (pooled.hpp, lemma), so it ends.
  template <class U>
  Step<U> root(const std::vector<Spot>& spots, Step<U> doubt, Step<U> t, int) const {
    for (;;) {
      const Step<U> next = chosen(spots, doubt, t);
      if (!steeper(next, t) && !steeper(t, next)) return next;
      t = next;
    }
  }

  // The same in doubles. `low` and `high` are bounds of the odds y / n of the root. Where
  // rounding keeps Newton from ending, the odds are bisected as the integers that their bits
  // are: at most 64 steps, whatever the magnitudes.
  Step<double> root(const std::vector<Spot>& spots, Step<double> doubt, Step<double> t,
                    int newton_steps) const {
    constexpr double kLargestOdds = 1e300;  // p is 1 long before, and nothing overflows
    double low = 0, high = kInfinity;
    for (int steps = 0;; ++steps) {
      const Step<double> next = chosen(spots, doubt, t);
      const bool up = product_exceeds(next.y, t.n, t.y * (1 + kMargin / 2), next.n);
      const bool down = product_exceeds(t.y, next.n, next.y * (1 + kMargin / 2), t.n);
      if (!up && !down) return next;
      if (up) low = std::max(low, t.y / t.n);
      if (down) high = std::min(high, t.y / t.n);
      const double odds = next.y / next.n;
      if (steps < newton_steps && odds >= low && odds <= high) {
        t = next;
        continue;
      }
      if (low >= kLargestOdds) return next;
      const double middle = std::min(middle_of(low, high), kLargestOdds);
      if (high - low <= low * (kMargin / 2) || middle == low) return {1, middle};
      t = {1, middle};
    }
  }

  static double middle_of(double low, double high) {
    std::uint64_t a, b;
    std::memcpy(&a, &low, sizeof a);
    std::memcpy(&b, &high, sizeof b);
    a += (b - a) / 2;
    std::memcpy(&low, &a, sizeof a);
    return low;
  }

  std::vector<StarFold<T>> folds_;
  T scale_ = 1, postulate_ = 1;
};

}  // namespace abers
