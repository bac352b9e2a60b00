// Bounds of a new row that has a weight of its own.
//
// Input:   distinct scores, ascending, below 2^32 of them, and masses of label 0 and label 1, not
//          both 0; a row's weight, at least 1 unit, that with all masses stays below 2^62.
// Memory:  the caller keeps the scores; this owns 56 bytes for each of them.
// Failure: std::bad_alloc.
// Cost:    linear to build; O(log^2 k) for a row.
//
// Let P_0 … P_k be the cumulated points, a the number of scores below that of the row, b of those
// not above it. As a 1 of weight w the row adds the step (0, w), and its value in the isotonic
// regression is
//
//   max over i <= a of min over j >= b of slope(P_j + (0, w) - P_i).
//
// The value is not below the slope of the minorant's edge over the row, so P_j is a corner of the
// minorant of all points: the last one for which the value exceeds the slope of the edge that leads
// to it. Given j, P_i is where the tangent from P_j + (0, w) touches the minorant of P_0 … P_a. That
// minorant is a chain of links, which Graham's scan leaves for every a; skew-binary jumps make its
// walk logarithmic. For label 0 the mirror image does the same.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "geometry.hpp"
#include "keys.hpp"
#include "memory.hpp"
#include "minorant.hpp"
#include "portable.hpp"
#include "rule.hpp"

namespace abers {

using Mass = Step<std::uint64_t>;

// y / total, correctly rounded, for 0 <= y <= total < 2^63.
inline double quotient(std::uint64_t y, std::uint64_t total) {
  double q = static_cast<double>(y) / static_cast<double>(total);
  if (total <= (std::uint64_t{1} << 53) || y == 0) return q;
  // The operands were rounded, so q may be off by two: move to a neighbour while y / total lies
  // beyond the middle between them. q is m 2^(e - 53), the middle above it (2 m + 1) 2^(e - 54).
  for (;;) {
    int e = 0;
    const auto m = static_cast<std::uint64_t>(std::ldexp(std::frexp(q, &e), 53));
    const bool odd = (m & 1) != 0, power = m == std::uint64_t{1} << 52;
    const UInt128 middle_above = UInt128(2 * m + 1) * UInt128(total);
    const UInt128 here = UInt128(y) << (54 - e);
    if (here > middle_above || (odd && here == middle_above)) {
      q = std::nextafter(q, 2.0);
      continue;
    }
    // Below a power of two doubles are twice as dense.
    const int finer = power ? 1 : 0;
    const UInt128 middle_below = UInt128((2 * m << finer) - 1) * UInt128(total);
    const UInt128 there = here << finer;
    if (there < middle_below || (odd && there == middle_below)) {
      q = std::nextafter(q, 0.0);
      continue;
    }
    return q;
  }
}

// One direction: the largest value that a new row of label 1 can have.
class Climb {
 public:
  Climb() = default;

  explicit Climb(Points<std::uint64_t> points) : points_(std::move(points)) {
    link();
    jump();
    for (std::uint32_t i = last(); i != 0; i = links_[i]) corners_.push_back(i);
    corners_.push_back(0);
    std::reverse(corners_.begin(), corners_.end());
  }

  // The masses that share the value of a row with `a` scores below it and `b` not above it, and its
  // own; all in units that are 2^shift times finer than those of the points.
  Mass shared(std::uint32_t a, std::uint32_t b, std::uint64_t weight, int shift) const {
    std::size_t low =
        std::lower_bound(corners_.begin(), corners_.end(), b) - corners_.begin();
    std::size_t high = corners_.size() - 1;
    while (low < high) {
      const std::size_t c = high - (high - low) / 2;
      const Mass edge = points_[corners_[c]] - points_[corners_[c - 1]];
      const std::uint32_t i =
          walk(a, [&](std::uint32_t at) { return steeper(link_step(at), edge); });
      if (steeper(raised(corners_[c], weight, shift) - scaled(i, shift), edge)) {
        low = c;
      } else {
        high = c - 1;
      }
    }
    const Mass top = raised(corners_[low], weight, shift);
    const std::uint32_t i = walk(a, [&](std::uint32_t at) {
      return steeper(link_step(at), top - scaled(at, shift));
    });
    return top - scaled(i, shift);
  }

 private:
  std::uint32_t last() const { return static_cast<std::uint32_t>(points_.size() - 1); }
  Mass link_step(std::uint32_t i) const { return points_[i] - points_[links_[i]]; }
  Mass scaled(std::uint32_t i, int shift) const {
    return {points_[i].n << shift, points_[i].y << shift};
  }
  Mass raised(std::uint32_t i, std::uint64_t weight, int shift) const {
    return scaled(i, shift) + Mass{0, weight};
  }

  // Graham's scan; a link leads to the corner before, on the minorant of the points up to here.
  void link() {
    links_.assign(points_.size(), 0);
    for (std::uint32_t i = 1; i < points_.size(); ++i) {
      std::uint32_t next = i - 1;
      while (next != 0 && !steeper(points_[i] - points_[next], link_step(next))) {
        next = links_[next];
      }
      links_[i] = next;
    }
  }

  // Over two equal jumps of the parent if it has them, else one link.
  void jump() {
    jumps_.assign(points_.size(), 0);
    Vector<std::uint32_t> depth(points_.size(), 0);
    for (std::uint32_t i = 1; i < points_.size(); ++i) {
      const std::uint32_t parent = links_[i], far = jumps_[parent];
      depth[i] = depth[parent] + 1;
      const bool equal = depth[parent] - depth[far] == depth[far] - depth[jumps_[far]];
      jumps_[i] = equal && parent != 0 ? jumps_[far] : parent;
    }
  }

  // The first point of the chain from `i` whose link is not to be taken.
  template <class Taken>
  std::uint32_t walk(std::uint32_t i, Taken taken) const {
    while (i != 0 && taken(i)) {
      const std::uint32_t far = jumps_[i];
      i = far != 0 && taken(far) ? far : links_[i];
    }
    return i;
  }

  Points<std::uint64_t> points_;
  Vector<std::uint32_t> links_, jumps_, corners_;
};

class OwnWeight {
 public:
  OwnWeight() = default;

  // If probability falls, the caller has exchanged the labels.
  OwnWeight(const double* scores, const std::int64_t* zeros, const std::int64_t* ones,
            std::size_t size, Direction direction)
      : size_(static_cast<std::uint32_t>(size)),
        direction_(direction),
        cells_(scores, size) {
    Points<std::uint64_t> points(size + 1), mirrored(size + 1);
    for (std::size_t i = 0; i < size; ++i) {
      points[i + 1] = points[i] + Mass{static_cast<std::uint64_t>(zeros[i]),
                                       static_cast<std::uint64_t>(ones[i])};
    }
    for (std::size_t i = 0; i <= size; ++i) {
      const Mass above = points[size] - points[size - i];
      mirrored[i] = {above.y, above.n};
    }
    as_one_ = Climb(std::move(points));
    as_zero_ = Climb(std::move(mirrored));
  }

  // Weights of the row as a 0 and as a 1, of labels as they were handed over.
  Pair bounds(double score, std::uint64_t if_zero, std::uint64_t if_one, int shift) const {
    const Place place = cells_.place(score);
    const Mass mirrored = as_zero_.shared(size_ - place.b, size_ - place.a, if_zero, shift);
    const Mass one = as_one_.shared(place.a, place.b, if_one, shift);
    const std::uint64_t of_zero = mirrored.n + mirrored.y, of_one = one.n + one.y;
    if (direction_ == Direction::increasing) {
      return {quotient(mirrored.n, of_zero), quotient(one.y, of_one)};
    }
    return {quotient(one.n, of_one), quotient(mirrored.y, of_zero)};
  }

 private:
  std::uint32_t size_ = 0;
  Direction direction_ = Direction::increasing;
  KeyCells cells_;
  Climb as_one_, as_zero_;
};

}  // namespace abers
