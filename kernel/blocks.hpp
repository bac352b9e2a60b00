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
#include <vector>

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

// `left` ends with the point where the part starts; `right` starts after its last point.
// The table's first piece holds below the part's first score.
inline Table fit_part(const double* scores, const std::int64_t* negatives,
                      const std::int64_t* positives, std::size_t size, WidePoints left,
                      const WidePoints& right, Direction direction) {
  WidePoints& points = left;
  const std::size_t begin = points.size() - 1;
  for (std::size_t i = 0; i < size; ++i) {
    points.push_back(points.back() +
                     Step<std::uint64_t>{static_cast<std::uint64_t>(negatives[i]),
                                         static_cast<std::uint64_t>(positives[i])});
  }
  const std::size_t end = points.size() - 1;
  points.insert(points.end(), right.begin(), right.end());
  const Range range{begin, end, points.size() - 1};
  return assemble(bounds_from_points(points, PartKeys{scores, begin}, range, direction),
                  direction);
}

}  // namespace abers
