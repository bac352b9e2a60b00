// The pooled rule: one isotonic regression on the star order of K folds, read at its centre.
//
// Input:   per fold the distinct scores, ascending, below 2^32 of them, and the counts of
//          label 0 and label 1, not both 0; rows of K scores that may be NaN.
// Memory:  the caller owns scores and output, and keeps the distinct scores as long as the
//          rule lives; the rule owns 28 to 56 bytes more for each of them (beyond 2^32
//          observations 36 to 72).
// Failure: std::bad_alloc; rows with a NaN get NaN bounds and are counted.
// Cost:    linear to build. A row takes some two evaluations of K tangents, and never more
//          than O(log D) evaluations of O(K log k); D is below.
//
// The K folds are chains, each ordered by the scores of its own model, and all of them run
// through the test object, the centre. Let h_t(P) = y - t (n + y) on the cumulated points P of
// a chain, a the number of its keys below the score asked for, b of those not above it. The
// upper sets that hold the centre choose in each chain, independently, how far down to go, and
// the lower sets how far up, so the value t of the regression at the centre, which has label l
// and weight v, is the root of
//
//   phi(t) = v (l - t) + sum over chains of [min over j >= b of h_t(P_j)
//                                            - min over i <= a of h_t(P_i)],
//
// continuous and strictly decreasing. For v = p / q everything is multiplied by q, so all is in
// integers up to D = q * total + p, and the root is a fraction with a denominator up to D.
//
// The minima sit on convex chains: to the right of b the minorant of P_b, P_b+1, …, to the left
// of a that of P_0 … P_a. Graham's scan leaves all of them as two forests of links, one node
// per point. tests/star.hpp is just that, on sums.
//
// One of the two minima of a fold is that of the whole fold: if t exceeds the slope of the
// minorant's edge over the query, all edges to the left are less steep than t, and the
// minimum over the whole fold lies to the right of the query; else it lies to the left. It
// sits on a corner of the minorant, which t alone determines. Only the other minimum is local,
// a point above that edge. For 0 < t < 1 a minimum over points to the left comes just after a
// step with a zero, and one over points to the right just before a step with a one. So the
// forests need left nodes after zeros and right nodes before ones only: one node
// for each untied observation. (At t = 0 and t = 1, h_t is flat along the steps without.)
//
// Slopes are stored as floats. Rounding is monotone, so two floats that differ have slopes
// that differ in the same way; only if they are equal do integer products decide.
//
// *Newton.* From t, go to the slope of the set that is chosen there. Lemma: no step leaves
// the bracket of the points tried before. Let t be the best lower point, phi(t) > 0, A the set
// chosen there and x = slope(A) > t, which is tried next. It is a better lower point, or an
// upper one; then every point y that is tried until a better lower one is found has
// t < y <= x. Let B be the set chosen at y. As t grows to y, minimisers move to the right: B
// is A with some chunks added above and others dropped below, all of slopes between t and y.
// With H(S) = y_S - t (n_S + y_S) and |S| = n_S + y_S for a set S, H(A) = (x - t) |A|,
// H(added) >= 0 and H(dropped) <= (y - t) |dropped|. So H(B) >= (y - t) (|A| - |dropped|) > 0,
// since the dropped chunks are part of A, which holds the test object as well: slope(B) > t.
// For upper points the mirror image holds. So the ends close in on each other and, slopes
// being finitely many, meet.
//
// *The bound.* How many steps that takes is unknown; 12 is the most we have seen. After 24
// the search of slope_search.hpp takes over, whose length is bounded.
//
// An evaluation follows a chain of links. Where some chain is longer than 32, jumps over many
// (skew-binary, as in Myers's random-access lists) make it logarithmic; only adversarial data
// have any.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "geometry.hpp"
#include "keys.hpp"
#include "lookup.hpp"
#include "memory.hpp"
#include "portable.hpp"
#include "rule.hpp"
#include "slope_search.hpp"

namespace abers {

struct FoldCounts {  // one fold, in arrays that are owned elsewhere
  const double* scores;
  const std::int64_t* zeros;
  const std::int64_t* ones;
  std::size_t size;
};

// A slope that is tried: exact, and as a float.
template <class T>
struct Trial {
  Step<T> exact;
  float rounded;

  explicit Trial(Step<T> v) : exact(v), rounded(static_cast<float>(slope(v))) {}
};

// Is the slope from one point to another, which is `rounded` as a float, greater than t?
template <class T>
bool exceeds(float rounded, Step<T> from, Step<T> to, const Trial<T>& t) {
  if (likely(rounded != t.rounded)) return rounded > t.rounded;
  return steeper(to - from, t.exact);
}
template <class T>
bool exceeded(float rounded, Step<T> from, Step<T> to, const Trial<T>& t) {
  if (likely(rounded != t.rounded)) return rounded < t.rounded;
  return steeper(t.exact, to - from);
}

// Slopes, as floats, strictly between which what was chosen stays.
struct Stay {
  float low = -1, high = 2;

  bool contains(float t) const { return low < t && t < high; }
  void above(float slope) { low = std::max(low, slope); }
  void below(float slope) { high = std::min(high, slope); }
};

// What a fold has chosen: P_j - P_i of its two minima.
template <class T>
struct Choice {
  Stay stay;
  Step<T> sum;
};

template <class T>
class PooledFold {
 public:
  // What a query needs of a fold: the covering edge, and where the local chains start.
  struct Spot {
    std::uint32_t left, right, edge;
  };

  PooledFold(const FoldCounts& fold, std::size_t column)
      : column_(column), cells_(fold.scores, fold.size) {
    make_nodes(fold);
    link_left();
    link_right();
    find_corners();
    place_edges(fold);
    if (std::max(longest_chain(left_, 0), longest_chain(right_, right_end())) >
        kLongestChain) {
      jumps_left_ = jumps(left_, 0);
      jumps_right_ = jumps(right_, right_end());
    }
  }

  std::size_t column() const { return column_; }
  const KeyCells& cells() const { return cells_; }

  std::size_t node_bytes() const { return (left_.size() + right_.size()) * sizeof(Node); }
  std::size_t bytes() const {
    return (left_.capacity() + right_.capacity()) * sizeof(Node) +
           corners_.capacity() * sizeof(Corner) + positions_.capacity() * sizeof(Position) +
           (slope_cells_.capacity() + rights_.capacity() + jumps_left_.capacity() +
            jumps_right_.capacity()) *
               sizeof(std::uint32_t) +
           cells_.bytes();
  }

  void prefetch(Place place) const {
    abers::prefetch(positions_.data() + place.a);
    if (!rights_.empty()) abers::prefetch(rights_.data() + place.b);
  }

  Spot spot(Place place) const {
    const Position at = positions_[place.a];
    const std::uint32_t right =
        rights_.empty() ? place.b - positions_[place.b].left : rights_[place.b];
    abers::prefetch(left_.data() + at.left);
    abers::prefetch(right_.data() + right);
    return {at.left, right, at.edge};
  }

  Step<T> covering_edge(Spot spot) const {
    return corners_[spot.edge + 1].point - corners_[spot.edge].point;
  }

  Choice<T> chosen(Spot spot, const Trial<T>& t) const {
    const Corner& from = corners_[spot.edge];
    const Corner& to = corners_[spot.edge + 1];
    const std::size_t c = lowest_corner(t);
    Stay stay;
    if (c > 0) stay.above(corners_[c - 1].slope);
    stay.below(corners_[c].slope);
    if (exceeded(from.slope, from.point, to.point, t)) {
      const Step<T> minimum = left_minimum(spot.left, t, stay);
      return {stay, corners_[c].point - minimum};
    }
    const Step<T> minimum = right_minimum(spot.right, t, stay);
    return {stay, minimum - corners_[c].point};
  }

 private:
  struct Node {
    Step<T> point;
    std::uint32_t link;
    float slope;  // of the link
  };
  struct Corner {
    Step<T> point;
    float slope;  // of the edge to the next; 2 for the last
  };
  struct Position {  // of a score with that many keys below
    std::uint32_t left, edge;
  };
  static constexpr std::uint32_t kLongestChain = 32;
  static constexpr std::uint32_t kMostSlopeCells = 256;

  std::uint32_t left_end() const { return static_cast<std::uint32_t>(left_.size() - 1); }
  std::uint32_t right_end() const { return static_cast<std::uint32_t>(right_.size() - 1); }

  void make_nodes(const FoldCounts& fold) {
    std::size_t zeros = 0, ones = 0;
    for (std::size_t i = 0; i < fold.size; ++i) {
      zeros += fold.zeros[i] != 0;
      ones += fold.ones[i] != 0;
    }
    left_.reserve(zeros + 1);
    right_.reserve(ones + 1);
    positions_.resize(fold.size + 1);
    if (zeros + ones > fold.size) rights_.resize(fold.size + 1);
    Step<T> point{0, 0};
    left_.push_back({point, 0, 2});
    for (std::size_t i = 0; i <= fold.size; ++i) {
      positions_[i].left = left_end();
      if (!rights_.empty()) rights_[i] = static_cast<std::uint32_t>(right_.size());
      if (i == fold.size) break;
      if (fold.ones[i] != 0) right_.push_back({point, 0, 0});
      point = point + Step<T>{static_cast<T>(fold.zeros[i]), static_cast<T>(fold.ones[i])};
      if (fold.zeros[i] != 0) left_.push_back({point, 0, 0});
    }
    right_.push_back({point, static_cast<std::uint32_t>(right_.size()), 2});
  }

  // Follow the links of the neighbour until the turn is convex.
  void link_left() {
    for (std::uint32_t i = 1; i < left_.size(); ++i) {
      Node& node = left_[i];
      std::uint32_t next = i - 1;
      for (;;) {
        const Node& to = left_[next];
        const Trial<T> chord(node.point - to.point);
        if (next == 0 || exceeded(to.slope, left_[to.link].point, to.point, chord)) {
          node.link = next;
          node.slope = chord.rounded;
          break;
        }
        next = to.link;
      }
    }
  }

  void link_right() {
    const std::uint32_t end = right_end();
    for (std::uint32_t i = end; i-- > 0;) {
      Node& node = right_[i];
      std::uint32_t next = i + 1;
      for (;;) {
        const Node& to = right_[next];
        const Trial<T> chord(to.point - node.point);
        if (next == end || exceeds(to.slope, to.point, right_[to.link].point, chord)) {
          node.link = next;
          node.slope = chord.rounded;
          break;
        }
        next = to.link;
      }
    }
  }

  // The minorant of the whole fold: its first point, and the chain of the first right node.
  void find_corners() {
    if (right_[0].point.n > 0) corners_.push_back({{0, 0}, 0});
    for (std::uint32_t i = 0;; i = right_[i].link) {
      corners_.push_back({right_[i].point, right_[i].slope});
      if (i == right_end()) break;
    }
    corners_.shrink_to_fit();
    place_corners();
  }

  void place_edges(const FoldCounts& fold) {
    std::uint32_t edge = 0;
    Step<T> point{0, 0};
    const auto last = static_cast<std::uint32_t>(corners_.size() - 2);
    for (std::size_t i = 0; i < fold.size; ++i) {
      const Step<T> corner = corners_[edge + 1].point;
      if (edge < last && point.n == corner.n && point.y == corner.y) ++edge;
      positions_[i].edge = edge;
      point = point + Step<T>{static_cast<T>(fold.zeros[i]), static_cast<T>(fold.ones[i])};
    }
    positions_[fold.size].edge = last;
  }

  // The most links from a node to the minorant of the fold, which is the chain of the node
  // that is farthest from the root.
  static std::uint32_t longest_chain(const Vector<Node>& nodes, std::uint32_t root) {
    const auto last = static_cast<std::uint32_t>(nodes.size() - 1);
    Vector<char> corner(nodes.size(), 0);
    for (std::uint32_t i = last - root; i != root; i = nodes[i].link) corner[i] = 1;
    Vector<std::uint32_t> depth(nodes.size(), 0);
    std::uint32_t longest = 0;
    // Links lead to where we have been.
    for (std::uint32_t step = 1; step <= last; ++step) {
      const std::uint32_t i = root == 0 ? step : root - step;
      depth[i] = corner[i] ? 0 : depth[nodes[i].link] + 1;
      longest = std::max(longest, depth[i]);
    }
    return longest;
  }

  // Skew-binary jumps: over two equal jumps of the parent if it has them, else one link.
  static Vector<std::uint32_t> jumps(const Vector<Node>& nodes, std::uint32_t root) {
    Vector<std::uint32_t> jump(nodes.size(), root), depth(nodes.size(), 0);
    for (std::uint32_t step = 1; step < nodes.size(); ++step) {
      const std::uint32_t i = root == 0 ? step : root - step;
      const std::uint32_t parent = nodes[i].link, far = jump[parent];
      depth[i] = depth[parent] + 1;
      const bool equal = depth[parent] - depth[far] == depth[far] - depth[jump[far]];
      jump[i] = equal && parent != root ? jump[far] : parent;
    }
    return jump;
  }

  // Where h_t is least: the first corner whose edge is at least as steep as t.
  std::size_t lowest_corner(const Trial<T>& t) const {
    const auto cell = static_cast<std::uint32_t>(t.rounded * slope_scale_);
    std::size_t c = slope_cells_[cell], inside = slope_cells_[cell + 1] - c;
    while (inside > 4) {
      const std::size_t half = inside / 2;
      if (less_steep(c + half - 1, t)) c += half;
      inside -= half;
    }
    while (less_steep(c, t)) ++c;
    return c;
  }

  bool less_steep(std::size_t c, const Trial<T>& t) const {
    if (likely(corners_[c].slope != t.rounded)) {
      return corners_[c].slope < t.rounded;
    }
    return steeper(t.exact, corners_[c + 1].point - corners_[c].point);
  }

  void place_corners() {
    std::uint32_t cells = 1;  // a power of two, so that products with it are exact
    while (cells < kMostSlopeCells && cells < 4 * corners_.size()) cells *= 2;
    slope_scale_ = static_cast<float>(cells);
    slope_cells_.resize(cells + 2);
    std::uint32_t c = 0;
    for (std::uint32_t cell = 0; cell < slope_cells_.size(); ++cell) {
      const auto first = static_cast<float>(cell);
      while (c + 1 < corners_.size() && corners_[c].slope * slope_scale_ < first) ++c;
      slope_cells_[cell] = c;
    }
  }

  Step<T> left_minimum(std::uint32_t i, const Trial<T>& t, Stay& stay) const {
    const auto taken = [&](const Node& node) {
      return exceeds(node.slope, left_[node.link].point, node.point, t);
    };
    const Node& at =
        minimum(left_, jumps_left_, 0, i, taken, [&](float s) { stay.below(s); });
    if (&at != left_.data()) stay.above(at.slope);
    return at.point;
  }

  Step<T> right_minimum(std::uint32_t i, const Trial<T>& t, Stay& stay) const {
    const auto taken = [&](const Node& node) {
      return exceeded(node.slope, node.point, right_[node.link].point, t);
    };
    const Node& at = minimum(right_, jumps_right_, right_end(), i, taken,
                             [&](float s) { stay.above(s); });
    stay.below(at.slope);
    return at.point;
  }

  // Walk along a chain while its links are taken; `passed` hears the slopes of some that are,
  // the last among them.
  template <class Taken, class Passed>
  static const Node& minimum(const Vector<Node>& nodes, const Vector<std::uint32_t>& jumps,
                             std::uint32_t root, std::uint32_t i, Taken taken,
                             Passed passed) {
    // Slopes are monotone along a chain: if the link that leaves the target of a jump is
    // taken, so are all links that the jump skips.
    while (!jumps.empty() && i != root) {
      const std::uint32_t far = jumps[i];
      if (far != root && taken(nodes[far])) i = far;
      if (!taken(nodes[i])) break;
      passed(nodes[i].slope);
      i = nodes[i].link;
    }
    while (i != root && taken(nodes[i])) {
      passed(nodes[i].slope);
      i = nodes[i].link;
    }
    return nodes[i];
  }

  std::size_t column_;
  KeyCells cells_;
  Vector<Node> left_, right_;
  Vector<Corner> corners_;
  Vector<std::uint32_t> slope_cells_;  // the first corner of each cell of slopes
  float slope_scale_ = 1;
  Vector<Position> positions_;
  Vector<std::uint32_t> rights_;  // only if some key has both labels
  Vector<std::uint32_t> jumps_left_, jumps_right_;
};

// All folds that have rows. T holds D.
template <class T>
class PooledFolds {
 public:
  PooledFolds(const std::vector<FoldCounts>& folds, T scale, T postulate)
      : columns_(folds.size()), scale_(scale), postulate_(postulate), largest_(postulate) {
    for (std::size_t k = 0; k < folds.size(); ++k) {
      if (folds[k].size == 0) continue;  // no tentacle
      folds_.emplace_back(folds[k], k);
      for (std::size_t i = 0; i < folds[k].size; ++i) {
        largest_ += scale * static_cast<T>(folds[k].zeros[i] + folds[k].ones[i]);
      }
    }
  }

  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& fold : folds_) total += fold.bytes();
    return total;
  }

  // emit(row, vector for label 0, vector for label 1), for `count` rows.
  template <class Emit>
  void solve(const double* scores, std::size_t count, int newton_steps, Emit emit) const {
    const std::vector<std::uint32_t> order = bucketed(scores, count);
    const std::size_t size = folds_.size();
    std::vector<std::uint32_t> firsts(kBlock * size);
    std::vector<Place> places(kBlock * size);
    std::vector<Spot> spots(kBlock * size);
    std::vector<Choice<T>> choices(size);
    std::size_t rows[kBlock];
    for (std::size_t from = 0; from < count; from += kBlock) {
      const std::size_t block = std::min(kBlock, count - from);
      for (std::size_t r = 0; r < block; ++r) {
        rows[r] = order.empty() ? from + r : order[from + r];
      }
      find(scores, rows, block, firsts, places, spots);
      for (std::size_t r = 0; r < block; ++r) {
        const Spot* row = spots.data() + r * size;
        const auto [zero, one] = Row{*this, row, choices.data()}.roots(newton_steps);
        emit(rows[r], zero, one);
      }
    }
  }

 private:
  using Spot = typename PooledFold<T>::Spot;
  static constexpr std::size_t kBlock = 32;

  // What a round needs is prefetched in the round before, so that the waits of a block
  // overlap.
  void find(const double* scores, const std::size_t* rows, std::size_t block,
            std::vector<std::uint32_t>& firsts, std::vector<Place>& places,
            std::vector<Spot>& spots) const {
    const std::size_t size = folds_.size();
    const auto each = [&](auto round) {
      for (std::size_t k = 0; k < size; ++k) {
        for (std::size_t r = 0; r < block; ++r) {
          round(folds_[k], scores[rows[r] * columns_ + folds_[k].column()], r * size + k);
        }
      }
    };
    each([&](const PooledFold<T>& fold, double s, std::size_t i) {
      firsts[i] = fold.cells().cell(s);
      fold.cells().prefetch(firsts[i]);
    });
    each([&](const PooledFold<T>& fold, double, std::size_t i) {
      firsts[i] = fold.cells().first(firsts[i]);
    });
    each([&](const PooledFold<T>& fold, double s, std::size_t i) {
      places[i] = fold.cells().place(s, firsts[i]);
      fold.prefetch(places[i]);
    });
    each([&](const PooledFold<T>& fold, double, std::size_t i) {
      spots[i] = fold.spot(places[i]);
    });
  }

  // Large structures lie in slow memory: rows in the order of one fold's cells meet nodes
  // that are still near. Empty: as they come.
  std::vector<std::uint32_t> bucketed(const double* scores, std::size_t count) const {
    constexpr std::size_t kNear = 1 << 20, kFewest = 4096, kBuckets = 1024;
    std::size_t bytes = 0;
    for (const auto& fold : folds_) bytes += fold.node_bytes();
    if (bytes <= kNear || count < kFewest || count > 0xFFFFFFFFu) return {};
    const PooledFold<T>& fold = folds_[0];
    const std::size_t width = fold.cells().cells() / kBuckets + 1;
    std::vector<std::uint32_t> starts(kBuckets + 1, 0), order(count);
    const auto bucket = [&](std::size_t i) {
      return fold.cells().cell(scores[i * columns_ + fold.column()]) / width;
    };
    for (std::size_t i = 0; i < count; ++i) ++starts[bucket(i) + 1];
    for (std::size_t b = 0; b < kBuckets; ++b) starts[b + 1] += starts[b];
    for (std::size_t i = 0; i < count; ++i) {
      order[starts[bucket(i)]++] = static_cast<std::uint32_t>(i);
    }
    return order;
  }

  Step<T> weighed(Step<T> sum, Step<T> doubt) const {
    return {static_cast<T>(scale_ * sum.n + doubt.n),
            static_cast<T>(scale_ * sum.y + doubt.y)};
  }

  // One row: where it stands in each fold, and what the folds have chosen last.
  struct Row {
    const PooledFolds& all;
    const Spot* spots;
    Choice<T>* choices;
    Stay stay{};  // of all folds

    std::pair<Step<T>, Step<T>> roots(int newton_steps) {
      const Step<T> is_zero{all.postulate_, 0}, is_one{0, all.postulate_};
      Step<T> edges{0, 0};
      for (std::size_t k = 0; k < all.folds_.size(); ++k) {
        edges = edges + all.folds_[k].covering_edge(spots[k]);
        choices[k].stay = {1, 0};  // nothing chosen yet
      }
      const Step<T> zero = root(is_zero, all.weighed(edges, is_zero), newton_steps);
      // Label 1 starts with the sets of label 0, and mostly ends with them.
      const Step<T> start = zero - is_zero + is_one;
      if (newton_steps > 0 && stay.contains(Trial<T>(start).rounded)) return {zero, start};
      return {zero, root(is_one, start, newton_steps)};
    }

    // The set that is chosen at t: phi(t) is its y - t (n + y).
    Step<T> chosen(Step<T> doubt, const Trial<T>& t) {
      Step<T> sum{0, 0};
      stay = {};
      for (std::size_t k = 0; k < all.folds_.size(); ++k) {
        Choice<T>& choice = choices[k];
        if (!choice.stay.contains(t.rounded)) choice = all.folds_[k].chosen(spots[k], t);
        stay.above(choice.stay.low);
        stay.below(choice.stay.high);
        sum = sum + choice.sum;
      }
      return all.weighed(sum, doubt);
    }

    Step<T> root(Step<T> doubt, Step<T> start, int newton_steps) {
      Trial<T> t(start);
      for (int step = 0; step < newton_steps; ++step) {
        const Step<T> set = chosen(doubt, t);
        const Trial<T> next(set);
        if (stay.contains(next.rounded)) return set;
        // At t itself phi may be 0 while a tie keeps t from lying strictly inside.
        if (!steeper(set, t.exact) && !steeper(t.exact, set)) return set;
        t = next;
      }
      return searched<T>([&](Step<T> slope) { return chosen(doubt, Trial<T>(slope)); },
                         all.largest_);
    }
  };

  std::size_t columns_;
  T scale_, postulate_, largest_;  // the last is D
  std::vector<PooledFold<T>> folds_;
};

// The bounds of rows, NaN for those with a NaN. `solve` writes all rows, and may make anything
// of a NaN.
template <class Solve>
Missing pooled_bounds(const double* scores, std::size_t size, std::size_t columns,
                      Pair* out, Solve solve) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  solve();
  Missing missing;
  for (std::size_t i = 0; i < size; ++i) {
    const double* row = scores + i * columns;
    unsigned any = 0;  // not bool: compilers make vectors of this one
    for (std::size_t k = 0; k < columns; ++k) any |= row[k] != row[k];
    if (any == 0) continue;
    if (missing.count++ == 0) missing.first = i;
    out[i] = {nan, nan};
  }
  return missing;
}

constexpr std::size_t kSmallestPooledShare = 1 << 10;  // rows that are worth a thread

// D must not exceed 2^53.
class Pooled {
 public:
  Pooled() = default;

  // The postulated observation has weight postulate / scale. If probability falls, the caller
  // has exchanged the labels.
  Pooled(const std::vector<FoldCounts>& folds, std::int64_t scale, std::int64_t postulate,
         Direction direction)
      : columns_(folds.size()), direction_(direction) {
    std::uint64_t total = 0;
    for (const auto& fold : folds) {
      for (std::size_t i = 0; i < fold.size; ++i) {
        total += static_cast<std::uint64_t>(fold.zeros[i] + fold.ones[i]);
      }
    }
    const auto q = static_cast<std::uint64_t>(scale);
    const auto p = static_cast<std::uint64_t>(postulate);
    if (q * total + p < kLargestNarrow) {
      folds_.emplace<1>(folds, static_cast<std::uint32_t>(q),
                        static_cast<std::uint32_t>(p));
    } else {
      folds_.emplace<2>(folds, q, p);
    }
  }

  std::size_t bytes() const {
    if (const auto* narrow = std::get_if<1>(&folds_)) return narrow->bytes();
    if (const auto* wide = std::get_if<2>(&folds_)) return wide->bytes();
    return 0;
  }

  Missing bounds(const double* scores, std::size_t size, Pair* out, std::size_t n_threads,
                 int newton_steps = kNewtonSteps) const {
    return shared_by_threads(
        n_threads, size, kSmallestPooledShare, [&](std::size_t from, std::size_t to) {
          const double* rows = scores + from * columns_;
          const auto emit = [&](std::size_t i, auto zero, auto one) {
            out[from + i] = pair_of(zero, one, direction_);
          };
          return pooled_bounds(rows, to - from, columns_, out + from, [&] {
            if (const auto* narrow = std::get_if<1>(&folds_)) {
              narrow->solve(rows, to - from, newton_steps, emit);
            } else if (const auto* wide = std::get_if<2>(&folds_)) {
              wide->solve(rows, to - from, newton_steps, emit);
            }
          });
        });
  }

 private:
  std::size_t columns_ = 0;
  std::variant<std::monostate, PooledFolds<std::uint32_t>, PooledFolds<std::uint64_t>>
      folds_;
  Direction direction_ = Direction::increasing;
};

}  // namespace abers
