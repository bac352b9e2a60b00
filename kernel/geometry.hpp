// Points and steps of the cumulated diagram, compared exactly.
//
// Input:   coordinates that never decrease from point to point.
// Memory:  everything here is a small value.
// Failure: none; the caller picks a coordinate type wide enough for the total.
// Cost:    two products per comparison.
//
// The paper draws the diagram over the weight: P_i = (sum of weights, sum of labels).
// We keep (zeros, ones) = (n, y) instead, weight minus label and label. The change is a
// shear of determinant one, so every cross product, hence every turn, is the same, and
// three things become simple: the label 1 of a test object is the step (0, 1) and the
// label 0 is (1, 0); the products are smaller; and the mirror image of the diagram,
// which turns lower into upper values, is a swap of n and y.
#pragma once

#include <cstdint>

#include "portable.hpp"

namespace abers {

template <class T>
struct Step {  // n observations labelled 0 and y labelled 1, both at least 0
  T n;
  T y;
};

template <class T>
Step<T> operator-(Step<T> a, Step<T> b) {
  return {static_cast<T>(a.n - b.n), static_cast<T>(a.y - b.y)};
}

template <class T>
Step<T> operator+(Step<T> a, Step<T> b) {
  return {static_cast<T>(a.n + b.n), static_cast<T>(a.y + b.y)};
}

// The type in which a product of two coordinates is exact: a coordinate is at most the
// total weight, the new case included, so 32 bits serve up to kLargestNarrow, 64 beyond.
template <class T>
struct Product;
template <>
struct Product<std::uint32_t> {
  using type = std::uint64_t;
};
template <>
struct Product<std::uint64_t> {
  using type = UInt128;
};

constexpr std::uint64_t kLargestNarrow = 0xFFFFFFFFu;

// Is the slope of u strictly greater than that of v? The slope of (n, y) is y / (n + y).
template <class T>
bool steeper(Step<T> u, Step<T> v) {
  using P = typename Product<T>::type;
  return static_cast<P>(u.y) * v.n > static_cast<P>(v.y) * u.n;
}

// The slope itself, and one minus it: each one correctly rounded division, because for
// totals below 2^53 both operands are exact.
template <class T>
double slope(Step<T> v) {
  return static_cast<double>(v.y) / static_cast<double>(v.n + v.y);
}

template <class T>
double complement(Step<T> v) {
  return static_cast<double>(v.n) / static_cast<double>(v.n + v.y);
}

}  // namespace abers
