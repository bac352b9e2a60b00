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
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "geometry.hpp"

namespace abers {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Table {
  std::vector<double> thresholds;
  std::vector<double> lower;  // one longer than thresholds
  std::vector<double> upper;
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
  std::vector<Change> changes;
};

// The smallest double above s, with one zero only: nextafter may give -0.0.
inline double just_above(double s) { return std::nextafter(s, kInfinity) + 0.0; }

// f1: records come in ascending order. `run` calls its argument with each record. Above a
// calibration score of +inf there is nothing: that record is dropped.
template <class T, class Run, class Keys>
Bound left_continuous(Run run, const Keys& keys, Direction direction) {
  Bound bound;
  run([&](std::size_t g, Step<T> bridge) {
    const double value = probability(bridge, direction);
    if (g == 0) {
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
Bound right_continuous(Run run, const Keys& keys, std::size_t last, Direction direction) {
  Bound bound;
  run([&](std::size_t g, Step<T> mirrored) {
    if (g != 0) bound.changes.push_back({keys.after(last - g), bound.first});
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
  double low = lower.first, up = upper.first;
  table.lower.push_back(std::min(low, up));
  table.upper.push_back(up);
  auto i = lower.changes.begin();
  auto j = upper.changes.begin();
  while (i != lower.changes.end() || j != upper.changes.end()) {
    const double next_low = i != lower.changes.end() ? i->threshold : kInfinity;
    const double next_up = j != upper.changes.end() ? j->threshold : kInfinity;
    const double t = std::min(next_low, next_up);
    if (i != lower.changes.end() && i->threshold == t) low = (i++)->value;
    if (j != upper.changes.end() && j->threshold == t) up = (j++)->value;
    const double capped = std::min(low, up);
    if (t == -kInfinity) {
      table.lower.back() = capped;
      table.upper.back() = up;
    } else if (capped != table.lower.back() || up != table.upper.back()) {
      table.thresholds.push_back(t);
      table.lower.push_back(capped);
      table.upper.push_back(up);
    }
  }
  return table;
}

inline Table assemble(const Bound& left, const Bound& right, Direction direction) {
  return direction == Direction::increasing ? assemble(right, left) : assemble(left, right);
}

}  // namespace abers
