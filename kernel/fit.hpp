// Fit the rule: diagram -> minorant -> records -> table.
//
// Input:   a diagram of counts and the weight of the test object in their unit, the
//          *postulate*, at least 1; or two sorted classes of weight 1; not empty.
// Memory:  the caller owns the inputs; the table owns its arrays.
// Failure: std::bad_alloc. Total and postulate together must not exceed 2^53.
// Cost:    linear in the number of distinct scores.
//
// To fit a probability that falls with the score, the caller exchanges the classes and
// passes Direction::decreasing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "diagram.hpp"
#include "minorant.hpp"
#include "records.hpp"
#include "relevance.hpp"
#include "rule.hpp"

namespace abers {

template <class T, class Keys>
Bounds bounds_from_points(const Points<T>& points, const Keys& keys, Range range,
                          T postulate, Direction direction) {
  const auto corners = minorant(points);
  const Forward<T> forward{points, corners};
  const Mirrored<T> mirrored{points, corners};
  return {left_continuous<T>([&](auto emit) { records<T>(forward, postulate, emit); }, keys,
                             range, direction),
          right_continuous<T>([&](auto emit) { records<T>(mirrored, postulate, emit); },
                              keys, range, direction)};
}

template <class T>
Bounds bounds_from_points(const Points<T>& points, const Classes& classes,
                          Direction direction) {
  const std::size_t last = points.size() - 1;
  return bounds_from_points(points, ClassKeys<T>{classes, points}, Range{0, last, last},
                            T{1}, direction);
}

// Below, the points are temporaries of the first statement: they are gone before the
// table, which may be larger, is made.

// The plain way: every distinct score is a point. Oracle of the next one.
template <class T>
Table fit_dense(const Classes& classes, Direction direction) {
  Bounds bounds = bounds_from_points(cumulated<T>(classes), classes, direction);
  return assemble(std::move(bounds), direction);
}

// The fast way: only scores that can matter are points.
template <class T>
Table fit_relevant(const Classes& classes, Direction direction) {
  Bounds bounds = bounds_from_points(relevant_points<T>(classes), classes, direction);
  return assemble(std::move(bounds), direction);
}

// Below this size there is too little to skip.
constexpr std::size_t kDenseBelow = 10000;

template <class T>
Table fit_classes_as(const Classes& classes, Direction direction) {
  return classes.total() < kDenseBelow ? fit_dense<T>(classes, direction)
                                       : fit_relevant<T>(classes, direction);
}

inline Table fit_classes(const Classes& classes, Direction direction) {
  return classes.total() + 1 <= kLargestNarrow
             ? fit_classes_as<std::uint32_t>(classes, direction)
             : fit_classes_as<std::uint64_t>(classes, direction);
}

template <class T>
Table fit_counts_as(const double* scores, const std::int64_t* negatives,
                    const std::int64_t* positives, std::size_t size, T postulate,
                    Direction direction) {
  Bounds bounds =
      bounds_from_points(cumulated<T>(negatives, positives, size), DiagramKeys{scores},
                         Range{0, size, size}, postulate, direction);
  return assemble(std::move(bounds), direction);
}

inline Table fit_counts(const double* scores, const std::int64_t* negatives,
                        const std::int64_t* positives, std::size_t size,
                        std::uint64_t postulate, Direction direction) {
  const auto total = static_cast<std::uint64_t>(
      std::accumulate(negatives, negatives + size, std::int64_t{0}) +
      std::accumulate(positives, positives + size, std::int64_t{0}));
  return total + postulate <= kLargestNarrow
             ? fit_counts_as<std::uint32_t>(scores, negatives, positives, size,
                                            static_cast<std::uint32_t>(postulate),
                                            direction)
             : fit_counts_as<std::uint64_t>(scores, negatives, positives, size, postulate,
                                            direction);
}

}  // namespace abers
