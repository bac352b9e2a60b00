// Which observations can matter? Most cannot, and are never looked at.
//
// Input:   two sorted classes of unit weights.
// Memory:  the caller owns the classes; points are returned by value.
// Failure: std::bad_alloc.
// Cost:    a small fraction of the observations where bounds change seldom; a little
//          more than the dense pass where they change at nearly every score.
//
// Take only some of the points P_0 .. P_m, among them both ends: the rest is hidden in
// *groups* between neighbouring points. A group from (n, y) to (n', y') hides a path that
// starts and ends there and rises monotonically, so it lies on or above the path "all its
// zeros, then all its ones", whose one convex corner is Q = (n', y).
//
// Relevance lemma. If Q is not strictly below (i) the bridge of f1 at the group's left end,
// nor (ii) that of f0, seen in the mirror, then no hidden point of the group is a corner of
// the full minorant or a record, and f0 and f1 do not change inside it.
// Proof. A bridge at a cut inside the group joins a left set and a right set that contain
// those of the points taken, cut at the group's left end (the group's left point, shifted
// by D, is the only one lost, and it never carries a bridge of slope below one), so it lies
// on or below theirs. Slopes lie in [0, 1], where height over the bridge is least at Q
// among the path's points; if Q is not below, no hidden point is, and none is a record of
// f1: (i). (ii) is (i) in the mirror.
// No hidden point is a corner either, for Q is not strictly below the minorant of the
// points taken, and more points can only lower a minorant: what lies on or above this one
// is no strict corner of the full one. Suppose that Q were strictly below it, that is,
// below the line of its edge over the group. The bridge of (i) joins A and C + D. Both
// are on or above that line: A and C are points taken, and D climbs with slope one, as
// steeply as any edge. Q lies between them: A is not right of the group, and C is not
// left of it, as C is lower than A over the bridge's slope if that is below one
// (records.hpp), and no point up to the group is. So the bridge is on or above the line
// at Q, and Q strictly below the bridge, against (i). (A bridge of slope one means that
// no zero follows A: then Q is the group's left point, which is not below the minorant.)
//
// So: take every 512th observation of the larger class, test the groups, take every 64th
// of the relevant ones, test again, every 8th, and then every score in what is still
// relevant (strides measured to be best at 10^5 and 10^6, and flat around there). A group
// once irrelevant stays so, because bridges only fall as points are added.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "diagram.hpp"
#include "minorant.hpp"
#include "records.hpp"

namespace abers {

// Append the points that every stride-th observation of the group's larger class starts,
// then the group's end. All of them lie between distinct scores.
template <class T>
void subdivide(const Classes& classes, Step<T> from, Step<T> to, std::size_t stride,
               Points<T>& out) {
  const bool more_zeros = to.n - from.n >= to.y - from.y;
  const double* large = more_zeros ? classes.zeros : classes.ones;
  const double* small = more_zeros ? classes.ones : classes.zeros;
  const std::size_t large_end = more_zeros ? to.n : to.y;
  const std::size_t small_end = more_zeros ? to.y : to.n;
  std::size_t i = more_zeros ? from.n : from.y;
  std::size_t j = more_zeros ? from.y : from.n;
  for (std::size_t next = i + stride; next < large_end; next = std::max(next, i) + stride) {
    const double v = large[next];
    const std::size_t start = large[next - 1] < v ? next : gallop(large, i, next, v);
    if (start == i) continue;  // the same score as at the last point
    i = start;
    j = gallop(small, j, small_end, v);
    out.push_back(more_zeros ? Step<T>{static_cast<T>(i), static_cast<T>(j)}
                             : Step<T>{static_cast<T>(j), static_cast<T>(i)});
  }
  out.push_back(to);
}

// Append every point of a group.
template <class T>
void expand(const Classes& classes, Step<T> from, Step<T> to, Points<T>& out) {
  const Classes part{classes.zeros + from.n, to.n - from.n, classes.ones + from.y,
                     to.y - from.y};
  for_each_distinct(part, [&](double, std::size_t n, std::size_t y) {
    out.push_back(out.back() + Step<T>{static_cast<T>(n), static_cast<T>(y)});
  });
}

// Mark the groups that a bridge of this view makes relevant. Group j of the points is
// group g of the view.
template <class T, class View, class Mark>
void mark_below_bridges(const View& view, Mark mark) {
  records<T>(
      view, T{1}, [](std::size_t, Step<T>) {},
      [&](std::size_t g, Step<T> active, Step<T> bridge) {
        if (g == view.last()) return;
        const Step<T> q{view.point(g + 1).n, view.point(g).y};
        if (steeper(bridge, q - active)) mark(g);
      });
}

template <class T>
std::vector<char> relevant_groups(const Points<T>& points) {
  std::vector<char> relevant(points.size() - 1, 0);
  const auto corners = minorant(points);
  mark_below_bridges<T>(Forward<T>{points, corners},
                        [&](std::size_t g) { relevant[g] = 1; });
  mark_below_bridges<T>(Mirrored<T>{points, corners},
                        [&](std::size_t g) { relevant[relevant.size() - 1 - g] = 1; });
  return relevant;
}

// How many points there can be after the next subdivision.
template <class T>
std::size_t most_points(const Points<T>& points, const std::vector<char>& relevant,
                        std::size_t stride) {
  std::size_t most = points.size();
  for (std::size_t j = 0; j < relevant.size(); ++j) {
    const Step<T> group = points[j + 1] - points[j];
    if (relevant[j]) most += (std::size_t{group.n} + group.y) / stride;
  }
  return most;
}

// All points that may be corners or records, ends included.
template <class T>
Points<T> relevant_points(const Classes& classes, std::size_t stride = 512,
                          std::size_t ratio = 8) {
  const Step<T> end{static_cast<T>(classes.n_zeros), static_cast<T>(classes.n_ones)};
  Points<T> points{{0, 0}};
  subdivide(classes, points[0], end, stride, points);
  while (stride > 1) {
    stride /= ratio;
    const std::vector<char> relevant = relevant_groups(points);
    Points<T> finer{{0, 0}};
    finer.reserve(most_points(points, relevant, stride));
    for (std::size_t j = 0; j + 1 < points.size(); ++j) {
      if (!relevant[j]) {
        finer.push_back(points[j + 1]);
      } else if (stride > 1) {
        subdivide(classes, points[j], points[j + 1], stride, finer);
      } else {
        expand(classes, points[j], points[j + 1], finer);
      }
    }
    points.swap(finer);
  }
  return points;
}

}  // namespace abers
