// Algorithms 2 and 4 of the paper: every value of f1 and of f0, as a list of records.
//
// Input:   points P_0 .. P_m and the corners of their minorant (minorant.hpp).
// Memory:  the caller owns both; `emit` receives each record as it is found.
// Failure: none.
// Cost:    linear; the active corner and the bridge's far end only move forward.
//
// Let the test object have label 1, weigh v and lie in gap g, between P_g and what follows.
// Its diagram is P_0 .. P_g, then P_g + D .. P_m + D with D = (0, v), and f1 there is the
// slope of the minorant over D: the lower common tangent, the *bridge*, of the left points
// and the shifted right ones. Write h(P) for the height of P over a line of the bridge's
// slope t. The bridge touches A on the left and C + D on the right, so
// h(C) = h(A) - v (1 - t) <= h(A): no point of the data lies lower than C. Hence C is a
// corner of the minorant of the data alone, for every g, and no reflection of points, as in
// the paper's line 6, is needed. As g grows, A changes exactly at the points that lie
// strictly below the current bridge (the records), and C only moves right.
//
// For label 0, D = (v, 0) and everything is seen in a mirror: the points in reverse order
// with n and y exchanged. This is the symmetry formula of the paper with its index
// corrected (docs/paper-notes.md), and it is why one function serves both.
#pragma once

#include <cstddef>
#include <vector>

#include "minorant.hpp"

namespace abers {

// A diagram as label 1 sees it, from left to right.
template <class T>
struct Forward {
  const Points<T>& points;
  const std::vector<std::size_t>& corners;

  std::size_t last() const { return points.size() - 1; }
  Step<T> point(std::size_t i) const { return points[i]; }
  std::size_t last_corner() const { return corners.size() - 1; }
  std::size_t corner(std::size_t c) const { return corners[c]; }
};

// The same diagram as label 0 sees it: reversed, zeros and ones exchanged.
template <class T>
struct Mirrored {
  const Points<T>& points;
  const std::vector<std::size_t>& corners;

  std::size_t last() const { return points.size() - 1; }
  Step<T> point(std::size_t i) const {
    const Step<T> p = points.back() - points[last() - i];
    return {p.y, p.n};
  }
  std::size_t last_corner() const { return corners.size() - 1; }
  std::size_t corner(std::size_t c) const { return last() - corners[last_corner() - c]; }
};

// Call emit(g, bridge) for gap 0 and for each later gap g at which the value of f1 grows;
// the value from gap g on is the slope of `bridge`. At every gap, visit(g, A, bridge) sees
// the current bridge and where it starts. `postulate` is the weight v of the test object.
template <class T, class View, class Emit, class Visit>
void records(const View& view, T postulate, Emit emit, Visit visit) {
  const Step<T> label_one{0, postulate};
  Step<T> active = view.point(0);
  std::size_t c = 0;
  Step<T> far = view.point(view.corner(0));

  // Move the far end right while the next edge of the minorant is not steeper (Alg. 2,
  // lines 10-11); the bridge from the active corner then has its least slope.
  const auto bridge = [&] {
    Step<T> b = far - active + label_one;
    while (c < view.last_corner()) {
      const Step<T> next = view.point(view.corner(c + 1));
      if (steeper(next - far, b)) break;
      far = next;
      ++c;
      b = far - active + label_one;
    }
    return b;
  };

  Step<T> current = bridge();
  emit(std::size_t{0}, current);
  visit(std::size_t{0}, active, current);
  for (std::size_t g = 1; g <= view.last(); ++g) {
    const Step<T> p = view.point(g);
    if (steeper(current, p - active)) {  // strictly below the bridge (Alg. 2, line 7)
      active = p;
      current = bridge();
      emit(g, current);
    }
    visit(g, active, current);
  }
}

template <class T, class View, class Emit>
void records(const View& view, T postulate, Emit emit) {
  records<T>(view, postulate, emit, [](std::size_t, Step<T>, Step<T>) {});
}

}  // namespace abers
