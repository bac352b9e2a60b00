// From records to the rule: one table of thresholds for both bounds.
//
// Input:   the records of f1 and of f0, and the score before and after each point.
// Memory:  the table owns its arrays.
// Failure: std::bad_alloc.
// Cost:    linear in the number of records.
//
// f1 is left-continuous: a record at point g holds for s > (score before g), that is, for
// s >= the next double. f0 is right-continuous: it changes at s >= (score after g). So both
// share one ascending array of thresholds, and piece j holds for
// thresholds[j-1] <= s < thresholds[j].
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "geometry.hpp"
#include "memory.hpp"

namespace abers {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Pair {  // side by side, so that one cache line answers both
  double lower;
  double upper;

  bool operator==(Pair other) const { return lower == other.lower && upper == other.upper; }
  bool operator!=(Pair other) const { return !(*this == other); }
};

struct Table {
  Vector<double> thresholds;
  Vector<Pair> bounds;  // one longer than thresholds
};

// Which way probability runs. If it falls with the score, the labels are exchanged before
// the fit and each bound is one minus the other's mirror: taken from the bridge itself,
// because one minus a rounded quotient would be rounded twice.
enum class Direction { increasing, decreasing };

template <class T>
double probability(Step<T> bridge, Direction direction) {
  return direction == Direction::increasing ? slope(bridge) : complement(bridge);
}

struct Change {
  double threshold;
  double value;  // from the threshold on
};

struct Bound {
  double first = 0;  // below the first change
  Vector<Change> changes;
};

// The smallest double above s < +inf: what nextafter gives, without a call, and with one
// kind of zero. The bits of doubles of one sign are ordered like the doubles.
inline double just_above(double s) {
  if (s == 0) return std::numeric_limits<double>::denorm_min();
  std::uint64_t bits;
  std::memcpy(&bits, &s, sizeof s);
  bits += s > 0 ? 1 : -1;
  std::memcpy(&s, &bits, sizeof s);
  return s + 0.0;
}

// The points whose scores are at hand: all of them, or those of one part (blocks.hpp).
struct Range {
  std::size_t begin, end;  // both are points; the scores lie between them
  std::size_t last;        // of all points
};

// f1: records come in ascending order. `run` calls its argument with each record. Above a
// calibration score of +inf there is nothing: that record is dropped.
template <class T, class Run, class Keys>
Bound left_continuous(Run run, const Keys& keys, Range range, Direction direction) {
  Bound bound;
  // Address space only: pages come when they are written.
  bound.changes.reserve(range.end - range.begin);
  run([&](std::size_t g, Step<T> bridge) {
    if (g > range.end) return;
    const double value = probability(bridge, direction);
    if (g <= range.begin) {
      bound.first = value;
    } else if (keys.before(g) < kInfinity) {
      bound.changes.push_back({just_above(keys.before(g)), value});
    }
  });
  return bound;
}

// f0: records come from the mirror, in descending order, and the value of a record holds
// *below* its threshold: it closes the change that the previous record opened.
template <class T, class Run, class Keys>
Bound right_continuous(Run run, const Keys& keys, Range range, Direction direction) {
  Bound bound;
  bound.changes.reserve(range.end - range.begin);
  run([&](std::size_t mirrored_gap, Step<T> mirrored) {
    const std::size_t g = range.last - mirrored_gap;
    if (g < range.begin) return;
    if (g < range.end) bound.changes.push_back({keys.after(g), bound.first});
    bound.first = probability(Step<T>{mirrored.y, mirrored.n}, direction);
  });
  std::reverse(bound.changes.begin(), bound.changes.end());
  return bound;
}

// Merge two bounds into one table. A threshold stays only if a value changes there as a
// double (two rationals may round alike) and some score lies below it (none does at -inf).
// The minimum acts on real weights only, where rounding may cross two nearly equal bounds.
inline Table assemble(const Bound& lower, const Bound& upper) {
  Table table;
  const std::size_t most = lower.changes.size() + upper.changes.size();
  table.thresholds.reserve(most);
  table.bounds.reserve(most + 1);
  double low = lower.first, up = upper.first;
  table.bounds.push_back({std::min(low, up), up});
  auto i = lower.changes.begin();
  auto j = upper.changes.begin();
  while (i != lower.changes.end() || j != upper.changes.end()) {
    const double next_low = i != lower.changes.end() ? i->threshold : kInfinity;
    const double next_up = j != upper.changes.end() ? j->threshold : kInfinity;
    const double t = std::min(next_low, next_up);
    if (i != lower.changes.end() && i->threshold == t) low = (i++)->value;
    if (j != upper.changes.end() && j->threshold == t) up = (j++)->value;
    const Pair pair{std::min(low, up), up};
    if (t == -kInfinity) {
      table.bounds.back() = pair;
    } else if (pair != table.bounds.back()) {
      table.thresholds.push_back(t);
      table.bounds.push_back(pair);
    }
  }
  return table;
}

struct Bounds {
  Bound left;   // the left-continuous one: upper, or lower if probability falls
  Bound right;  // the right-continuous one
};

inline Table assemble(const Bounds& bounds, Direction direction) {
  return direction == Direction::increasing ? assemble(bounds.right, bounds.left)
                                            : assemble(bounds.left, bounds.right);
}

}  // namespace abers
