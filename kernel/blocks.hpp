// One part of a rule, from one part of the scores and a summary of the rest.
//
// Input:   a part of the diagram, sorted; the corners of the minorant of all points to its
//          left, ending where the part starts, and of all points to its right.
// Memory:  the caller owns the inputs; the table owns its arrays.
// Failure: std::bad_alloc.
// Cost:    linear in the part and the corners; the rest of the data is not needed.
//
// A bridge touches the left points and the shifted right points at corners of their
// minorants, and the minorant of a union is the minorant of the corners. So for a cut inside
// the part, points beyond it that are no corners may be left out, and the records at the
// part's own points, with their values, are those of the whole. The same holds for the
// mirror. Range tells records that are kept from those that only lead there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "diagram.hpp"
#include "fit.hpp"
#include "minorant.hpp"

namespace abers {

using WidePoints = Points<std::uint64_t>;

// The corners of the minorant of any ascending points.
inline WidePoints corners_of(const WidePoints& points) {
  WidePoints corners;
  for (std::size_t i : minorant(points)) corners.push_back(points[i]);
  return corners;
}

struct PartKeys {
  const double* scores;
  std::size_t begin;

  double before(std::size_t g) const { return scores[g - begin - 1]; }
  double after(std::size_t g) const { return scores[g - begin]; }
};

inline std::uint64_t total_of(const std::int64_t* zeros, const std::int64_t* ones,
                              std::size_t size) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < size; ++i) {
    total += static_cast<std::uint64_t>(zeros[i] + ones[i]);
  }
  return total;
}

// Graham's scan of the points between the first and the last score, counted from the
// part's start; only corners are held.
template <class T>
WidePoints inner_corners_as(const std::int64_t* zeros, const std::int64_t* ones,
                            std::size_t size) {
  Points<T> corners;
  Step<T> point{0, 0};
  for (std::size_t i = 0; i + 1 < size; ++i) {
    point = point + Step<T>{static_cast<T>(zeros[i]), static_cast<T>(ones[i])};
    while (corners.size() > 1) {
      const Step<T> top = corners.back(), next_to_top = corners[corners.size() - 2];
      if (steeper(point - top, top - next_to_top)) break;  // a left turn
      corners.pop_back();
    }
    corners.push_back(point);
  }
  WidePoints wide;
  wide.reserve(corners.size());
  for (const Step<T> corner : corners) wide.push_back({corner.n, corner.y});
  return wide;
}

inline WidePoints inner_corners(const std::int64_t* zeros, const std::int64_t* ones,
                                std::size_t size) {
  return total_of(zeros, ones, size) <= kLargestNarrow
             ? inner_corners_as<std::uint32_t>(zeros, ones, size)
             : inner_corners_as<std::uint64_t>(zeros, ones, size);
}

template <class T>
void append(Points<T>& points, const WidePoints& more) {
  for (const auto& point : more) {
    points.push_back({static_cast<T>(point.n), static_cast<T>(point.y)});
  }
}

template <class T>
Table fit_part_as(const double* scores, const std::int64_t* zeros, const std::int64_t* ones,
                  std::size_t size, const WidePoints& left, const WidePoints& right,
                  T postulate, Direction direction) {
  Points<T> points;
  points.reserve(left.size() + size + right.size());
  append(points, left);
  const std::size_t begin = points.size() - 1;
  for (std::size_t i = 0; i < size; ++i) {
    points.push_back(points.back() +
                     Step<T>{static_cast<T>(zeros[i]), static_cast<T>(ones[i])});
  }
  const std::size_t end = points.size() - 1;
  append(points, right);
  const Range range{begin, end, points.size() - 1};
  return assemble(
      bounds_from_points(points, PartKeys{scores, begin}, range, postulate, direction),
      direction);
}

// `left` ends with the point where the part starts; `right` starts after its last point.
// The table's first piece holds below the part's first score. `postulate` is the weight of
// the test object in the unit of the counts.
inline Table fit_part(const double* scores, const std::int64_t* zeros,
                      const std::int64_t* ones, std::size_t size, const WidePoints& left,
                      const WidePoints& right, std::uint64_t postulate,
                      Direction direction) {
  const auto start = right.empty() ? left.back() : right.back();
  const std::uint64_t beyond = right.empty() ? total_of(zeros, ones, size) : 0;
  return start.n + start.y + beyond + postulate <= kLargestNarrow
             ? fit_part_as<std::uint32_t>(scores, zeros, ones, size, left, right,
                                          static_cast<std::uint32_t>(postulate), direction)
             : fit_part_as<std::uint64_t>(scores, zeros, ones, size, left, right, postulate,
                                          direction);
}

// Where scores of given ranks are, and how many observations of either label are below.
struct Ranked {
  Vector<std::int64_t> places, negatives, positives;
};

// Ranks count from 1, ascend, and do not exceed the number of observations.
inline Ranked ranked(const std::int64_t* negatives, const std::int64_t* positives,
                     const std::int64_t* ranks, std::size_t n_ranks) {
  Ranked found;
  std::size_t place = 0;
  std::int64_t zeros = 0, ones = 0;  // below the place
  for (std::size_t r = 0; r < n_ranks; ++r) {
    while (zeros + ones + negatives[place] + positives[place] < ranks[r]) {
      zeros += negatives[place];
      ones += positives[place];
      ++place;
    }
    found.places.push_back(static_cast<std::int64_t>(place));
    found.negatives.push_back(zeros);
    found.positives.push_back(ones);
  }
  return found;
}

}  // namespace abers
