// Fit the rule: diagram -> minorant -> records -> table.
//
// Input:   a diagram of counts, or two sorted classes; at least one observation.
// Memory:  the caller owns the inputs; the table owns its arrays.
// Failure: std::bad_alloc. Totals must not exceed 2^53.
// Cost:    linear in the number of distinct scores.
//
// To fit a probability that falls with the score, the caller exchanges the classes and
// passes Direction::decreasing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>

#include "diagram.hpp"
#include "minorant.hpp"
#include "records.hpp"
#include "rule.hpp"

namespace abers {

template <class T, class Keys>
Table fit_points(const Points<T>& points, const Keys& keys, Direction direction) {
  const auto corners = minorant(points);
  const Bound left = left_continuous<T>(
      [&](auto emit) { records<T>(Forward<T>{points, corners}, emit); }, keys, direction);
  const Bound right = right_continuous<T>(
      [&](auto emit) { records<T>(Mirrored<T>{points, corners}, emit); }, keys,
      points.size() - 1, direction);
  return assemble(left, right, direction);
}

template <class T>
Table fit_classes_as(const Classes& classes, Direction direction) {
  const Points<T> points = cumulated<T>(classes);
  return fit_points(points, ClassKeys<T>{classes, points}, direction);
}

inline Table fit_classes(const Classes& classes, Direction direction) {
  return classes.total() <= kLargestNarrowTotal
             ? fit_classes_as<std::uint32_t>(classes, direction)
             : fit_classes_as<std::uint64_t>(classes, direction);
}

inline Table fit_counts(const double* scores, const std::int64_t* negatives,
                        const std::int64_t* positives, std::size_t size,
                        Direction direction) {
  const DiagramKeys keys{scores};
  const auto total = static_cast<std::uint64_t>(
      std::accumulate(negatives, negatives + size, std::int64_t{0}) +
      std::accumulate(positives, positives + size, std::int64_t{0}));
  return total <= kLargestNarrowTotal
             ? fit_points(cumulated<std::uint32_t>(negatives, positives, size), keys,
                          direction)
             : fit_points(cumulated<std::uint64_t>(negatives, positives, size), keys,
                          direction);
}

}  // namespace abers
