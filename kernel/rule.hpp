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
#include <utility>

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

// If probability falls, the labels were exchanged, and each bound is one minus the other's
// mirror, taken from the vector itself: rounded once.
template <class T>
Pair pair_of(Step<T> zero, Step<T> one, Direction direction) {
  return direction == Direction::increasing ? Pair{slope(zero), slope(one)}
                                            : Pair{complement(one), complement(zero)};
}

// One bound as a function of the score.
struct Bound {
  double first = 0;           // below the first threshold
  Vector<double> thresholds;  // ascending
  Vector<double> values;      // from each threshold on

  void reserve(std::size_t size) {  // address space only: pages come when written
    thresholds.reserve(size);
    values.reserve(size);
  }
  void change(double threshold, double value) {
    thresholds.push_back(threshold);
    values.push_back(value);
  }
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
  bound.reserve(range.end - range.begin);
  run([&](std::size_t g, Step<T> bridge) {
    if (g > range.end) return;
    const double value = probability(bridge, direction);
    if (g <= range.begin) {
      bound.first = value;
    } else if (keys.before(g) < kInfinity) {
      bound.change(just_above(keys.before(g)), value);
    }
  });
  return bound;
}

// f0: records come from the mirror, in descending order, and the value of a record holds
// *below* its threshold: it closes the change that the previous record opened.
template <class T, class Run, class Keys>
Bound right_continuous(Run run, const Keys& keys, Range range, Direction direction) {
  Bound bound;
  bound.reserve(range.end - range.begin);
  run([&](std::size_t mirrored_gap, Step<T> mirrored) {
    const std::size_t g = range.last - mirrored_gap;
    if (g < range.begin) return;
    if (g < range.end) bound.change(keys.after(g), bound.first);
    bound.first = probability(Step<T>{mirrored.y, mirrored.n}, direction);
  });
  std::reverse(bound.thresholds.begin(), bound.thresholds.end());
  std::reverse(bound.values.begin(), bound.values.end());
  return bound;
}

// Merge ascending numbers into others, from the back, so that no third array is needed.
inline void merge_into(Vector<double>& many, const Vector<double>& few) {
  std::size_t i = many.size(), j = few.size();
  many.resize(i + j);
  for (std::size_t end = i + j; j > 0;) {
    many[--end] = i > 0 && many[i - 1] > few[j - 1] ? many[--i] : few[--j];
  }
}

// Make one table of two bounds; the bound with more thresholds gives its array to the
// table, because for rare events it is as long as the data. A threshold stays only if a
// value changes there as a double (two rationals may round alike) and some score lies
// below it (none does at -inf). The minimum acts on real weights only, where rounding may
// cross two nearly equal bounds.
inline Table assemble(Bound&& lower, Bound&& upper) {
  const bool more_lower = lower.thresholds.size() > upper.thresholds.size();
  Bound& many = more_lower ? lower : upper;
  const Bound& few = more_lower ? upper : lower;
  Table table;
  table.thresholds = std::move(many.thresholds);
  merge_into(table.thresholds, few.thresholds);
  const std::size_t size = table.thresholds.size();
  table.bounds.reserve(size + 1);

  double of_many = many.first, of_few = few.first;
  const auto pair = [&] {
    const double low = more_lower ? of_many : of_few, up = more_lower ? of_few : of_many;
    return Pair{std::min(low, up), up};
  };
  table.bounds.push_back(pair());
  std::size_t i = 0, j = 0, kept = 0;  // next of many, of few, of the table
  for (std::size_t read = 0; read < size;) {
    const double t = table.thresholds[read];
    const bool both = read + 1 < size && table.thresholds[read + 1] == t;
    const bool by_few = j < few.thresholds.size() && few.thresholds[j] == t;
    if (by_few) of_few = few.values[j++];
    if (both || !by_few) of_many = many.values[i++];
    read += both ? 2 : 1;
    if (t == -kInfinity) {
      table.bounds.back() = pair();
    } else if (pair() != table.bounds.back()) {
      table.thresholds[kept++] = t;
      table.bounds.push_back(pair());
    }
  }
  table.thresholds.resize(kept);
  return table;
}

struct Bounds {
  Bound left;   // the left-continuous one: upper, or lower if probability falls
  Bound right;  // the right-continuous one
};

inline Table assemble(Bounds&& bounds, Direction direction) {
  return direction == Direction::increasing
             ? assemble(std::move(bounds.right), std::move(bounds.left))
             : assemble(std::move(bounds.left), std::move(bounds.right));
}

}  // namespace abers
