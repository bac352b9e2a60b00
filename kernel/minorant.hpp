// The greatest convex minorant (GCM) of a cumulated diagram: its corners.
//
// Input:   points P_0 .. P_m whose coordinates never decrease; exact coordinates.
// Memory:  the caller owns the points; the corners are returned as indices.
// Failure: none but running out of memory.
// Cost:    linear; each point is pushed once and popped at most once.
#pragma once

#include <cstddef>
#include <vector>

#include "geometry.hpp"
#include "memory.hpp"

namespace abers {

template <class T>
using Points = Vector<Step<T>>;  // cumulated: P_0 = (0, 0)

// Graham's scan, Algorithm 1 without its extra point P_{-1}: the corners are those of the
// calibration data alone and serve both label hypotheses (records.hpp says why).
template <class T>
std::vector<std::size_t> minorant(const Points<T>& points) {
  std::vector<std::size_t> corners;
  for (std::size_t i = 0; i < points.size(); ++i) {
    while (corners.size() > 1) {
      const Step<T> top = points[corners.back()];
      const Step<T> next_to_top = points[corners[corners.size() - 2]];
      if (steeper(points[i] - top, top - next_to_top)) break;  // a left turn
      corners.pop_back();
    }
    corners.push_back(i);
  }
  return corners;
}

}  // namespace abers
