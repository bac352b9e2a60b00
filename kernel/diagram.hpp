// From observations to the diagram: counts per distinct score, cumulated to points.
//
// Input:   scores without NaN; the two classes sorted, with one kind of zero.
// Memory:  the caller owns the inputs; points and diagram are returned by value.
// Failure: split_by_label reports what it cannot use; the rest cannot fail.
// Cost:    linear.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "minorant.hpp"
#include "rule.hpp"

namespace abers {

// What a pass over raw observations found. Rows count from 0; a row is only meaningful
// where its count is not 0.
struct Split {
  std::size_t zeros = 0;
  std::size_t missing_scores = 0, first_missing_score = 0;
  std::size_t bad_labels = 0, first_bad_label = 0;
};

// One pass: check, and write scores labelled 0 from the front of `out` and those labelled
// 1 from its back. Adding 0.0 turns -0.0 into 0.0 and changes nothing else.
template <class Label>
Split split_by_label(const double* scores, const Label* labels, std::size_t size,
                     double* out) {
  Split found;
  std::size_t front = 0, back = size;
  for (std::size_t i = 0; i < size; ++i) {
    const double s = scores[i] + 0.0;
    const bool one = labels[i] == Label{1};
    if (s != s && found.missing_scores++ == 0) found.first_missing_score = i;
    if (!one && !(labels[i] == Label{0}) && found.bad_labels++ == 0) {
      found.first_bad_label = i;
    }
    // Both ends are written, only one advances: no branch on a random label.
    out[front] = s;
    out[back - 1] = s;
    front += !one;
    back -= one;
  }
  found.zeros = front;
  return found;
}

struct Classes {  // sorted scores of the observations labelled 0 and of those labelled 1
  const double* zeros;
  std::size_t n_zeros;
  const double* ones;
  std::size_t n_ones;

  std::size_t total() const { return n_zeros + n_ones; }

  // The smallest score at or after position (n, y); there must be one.
  double next(std::size_t n, std::size_t y) const {
    if (n == n_zeros) return ones[y];
    if (y == n_ones) return zeros[n];
    return std::min(zeros[n], ones[y]);
  }
  // The largest score before position (n, y); there must be one.
  double previous(std::size_t n, std::size_t y) const {
    if (n == 0) return ones[y - 1];
    if (y == 0) return zeros[n - 1];
    return std::max(zeros[n - 1], ones[y - 1]);
  }
};

// First index in [from, to) whose value is at least v, or `to`: doubling steps, because it
// is usually near.
inline std::size_t gallop(const double* sorted, std::size_t from, std::size_t to,
                          double v) {
  std::size_t step = 1, low = from;
  while (low + step <= to && sorted[low + step - 1] < v) {
    low += step;
    step *= 2;
  }
  const std::size_t high = std::min(low + step - 1, to);
  return static_cast<std::size_t>(std::lower_bound(sorted + low, sorted + high, v) -
                                  sorted);
}

// Past the scores equal to s that start at `from`, if any do: a run costs its logarithm.
inline std::size_t run_end(const double* sorted, std::size_t from, std::size_t to,
                           double s) {
  if (from == to || sorted[from] != s) return from;
  if (from + 1 == to || sorted[from + 1] != s) return from + 1;
  return s < kInfinity ? gallop(sorted, from + 2, to, just_above(s)) : to;
}

// Walk the distinct scores of two sorted classes: visit(score, zeros, ones) for each.
template <class Visit>
void for_each_distinct(const Classes& classes, Visit visit) {
  std::size_t n = 0, y = 0;
  while (n < classes.n_zeros || y < classes.n_ones) {
    const double s = classes.next(n, y);
    const std::size_t next_n = run_end(classes.zeros, n, classes.n_zeros, s);
    const std::size_t next_y = run_end(classes.ones, y, classes.n_ones, s);
    visit(s, next_n - n, next_y - y);
    n = next_n;
    y = next_y;
  }
}

template <class T>
Points<T> cumulated(const Classes& classes) {
  Points<T> points{{0, 0}};
  points.reserve(classes.total() + 1);
  for_each_distinct(classes, [&](double, std::size_t n, std::size_t y) {
    points.push_back(points.back() + Step<T>{static_cast<T>(n), static_cast<T>(y)});
  });
  return points;
}

template <class T>
Points<T> cumulated(const std::int64_t* negatives, const std::int64_t* positives,
                    std::size_t size) {
  Points<T> points{{0, 0}};
  points.reserve(size + 1);
  for (std::size_t i = 0; i < size; ++i) {
    points.push_back(points.back() +
                     Step<T>{static_cast<T>(negatives[i]), static_cast<T>(positives[i])});
  }
  return points;
}

// The rank-th smallest score, counted from 1, of both classes together: search for the
// number of zeros among the first `rank` scores.
inline double order_statistic(const Classes& classes, std::size_t rank) {
  std::size_t low = rank > classes.n_ones ? rank - classes.n_ones : 0;
  std::size_t high = std::min(rank, classes.n_zeros);
  while (low < high) {
    const std::size_t n = low + (high - low) / 2;
    if (classes.zeros[n] < classes.ones[rank - n - 1]) {
      low = n + 1;
    } else {
      high = n;
    }
  }
  return classes.previous(low, rank - low);
}

// Scores around the points of a diagram, looked up by the point's index.
struct DiagramKeys {
  const double* scores;

  double before(std::size_t g) const { return scores[g - 1]; }
  double after(std::size_t g) const { return scores[g]; }
};

// The same for points of two classes: a point is a position in both.
template <class T>
struct ClassKeys {
  const Classes& classes;
  const Points<T>& points;

  double before(std::size_t g) const { return classes.previous(points[g].n, points[g].y); }
  double after(std::size_t g) const { return classes.next(points[g].n, points[g].y); }
};

}  // namespace abers
