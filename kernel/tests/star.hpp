// The pooled rule on sums: the plain version that pooled.hpp is tested against.
//
// Input:   per fold the distinct scores, ascending, and the counts of label 0 and label 1,
//          not both 0; the weight of the postulated observation; rows of K scores.
// Memory:  the star owns its forests; the caller owns the distinct scores, and keeps them.
// Failure: std::bad_alloc; a row with a NaN gets some bounds, and is the caller's to find.
// Cost:    linear to build; the logarithm of a fold for each evaluation.
//
// pooled.hpp says what is computed. Here a link carries the sum of the masses that it skips,
// where there a chosen set is a difference of two points, and neither tangents of the whole
// fold nor floats save any work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../geometry.hpp"
#include "../keys.hpp"
#include "../memory.hpp"
#include "../rule.hpp"

namespace abers {

struct StarFold {
  using Sum = Step<std::uint64_t>;

  // A link to the next corner, and a jump over many (skew-binary, as Myers's random-access
  // lists): the jumps make a walk along any chain logarithmic.
  struct Node {
    std::uint32_t next, jump;
    std::uint32_t depth;
    Sum sum, jump_sum;  // of the masses skipped
  };

  KeyCells keys;
  std::uint32_t size;
  Vector<Node> right, left;  // one more than keys
  Vector<Sum> masses;

  StarFold(const double* scores, const std::int64_t* zeros, const std::int64_t* ones,
           std::size_t count)
      : keys(scores, count),
        size(static_cast<std::uint32_t>(count)),
        right(count + 1),
        left(count + 1) {
    const auto mass = [&](std::size_t i) {
      return Sum{static_cast<std::uint64_t>(zeros[i]), static_cast<std::uint64_t>(ones[i])};
    };
    const std::uint32_t end = size;
    right[end] = {end, end, 0, {0, 0}, {0, 0}};
    left[0] = {0, 0, 0, {0, 0}, {0, 0}};
    for (std::uint32_t i = end; i-- > 0;) {
      Sum sum = mass(i);
      std::uint32_t next = i + 1;
      while (next != end && !steeper(right[next].sum, sum)) {
        sum = sum + right[next].sum;
        next = right[next].next;
      }
      link(right, i, next, sum);
    }
    for (std::uint32_t i = 1; i <= end; ++i) {
      Sum sum = mass(i - 1);
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

  // The masses of the part above the centre that a lower set takes at t, and of the part
  // below that an upper set takes.
  Sum above(std::uint32_t b, Sum t) const {
    return walk(right, b, size, [t](Sum sum) { return steeper(t, sum); });
  }
  Sum below(std::uint32_t a, Sum t) const {
    return walk(left, a, 0, [t](Sum sum) { return steeper(sum, t); });
  }

 private:
  static void link(Vector<Node>& nodes, std::uint32_t i, std::uint32_t next, Sum sum) {
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
  static Sum walk(const Vector<Node>& nodes, std::uint32_t i, std::uint32_t end,
                  Taken taken) {
    Sum sum{0, 0};
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

// The root for each label.
class Star {
 public:
  using Sum = StarFold::Sum;

  // The postulated observation weighs postulate / scale: masses count `scale` times.
  Star(std::vector<StarFold>&& folds, std::uint64_t scale, std::uint64_t postulate)
      : folds_(std::move(folds)), scale_(scale), postulate_(postulate) {}

  // The vectors whose slopes are the bounds, for one row of K scores.
  std::pair<Sum, Sum> bounds(const double* scores) const {
    std::vector<Spot> spots;
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      const Place place = folds_[k].keys.place(scores[k]);
      spots.push_back({place, place.b > place.a ? folds_[k].masses[place.a] : Sum{0, 0}});
    }
    return {root(spots, {postulate_, 0}), root(spots, {0, postulate_})};
  }

 private:
  struct Spot {  // of a score in a fold
    Place place;
    Sum ties;
  };

  // The set that is chosen at t: phi(t) is its y - t (n + y).
  Sum chosen(const std::vector<Spot>& spots, Sum doubt, Sum t) const {
    Sum sum{0, 0};
    for (std::size_t k = 0; k < folds_.size(); ++k) {
      sum = sum + spots[k].ties + folds_[k].above(spots[k].place.b, t) +
            folds_[k].below(spots[k].place.a, t);
    }
    return Sum{sum.n * scale_, sum.y * scale_} + doubt;
  }

  // Newton: the slope of the set chosen at t is the next t. Each step stays between the
  // best points on either side of the root (pooled.hpp, lemma), so it ends.
  Sum root(const std::vector<Spot>& spots, Sum doubt) const {
    Sum t{1, 1};
    for (;;) {
      const Sum next = chosen(spots, doubt, t);
      if (!steeper(next, t) && !steeper(t, next)) return next;
      t = next;
    }
  }

  std::vector<StarFold> folds_;
  std::uint64_t scale_, postulate_;
};

}  // namespace abers
