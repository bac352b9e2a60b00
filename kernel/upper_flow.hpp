// The best upper set of points of any dimension, by a maximum flow on the cover edges.
//
// Input:   distinct points, sorted by their coordinates; one test point, anywhere; places of
//          the points that count, ascending and convex (with p < r < q, if p and q count, so
//          does r), and an excess for each.
// Memory:  the order owns 4 bytes per cover edge and, while it is made, a bit for each pair of
//          points; a flow, one for each thread, some 30 bytes per edge.
// Failure: std::bad_alloc when either is made, or when a flow first meets many points.
// Cost:    O(k^2 (d + c) / 64) to make, for c cover edges per point; then Dinic's algorithm.
//
// The problem and its transport are those of upper_sweep.hpp. A supply may go from point to
// point upwards, along edges without limit, and it is enough to have those from p to q with
// nothing between: the points that count are convex, so all of a chain of such edges between
// two of them is there. The test point, if no calibration point equals it, is joined to all
// that it is comparable with.
//
// The search of Dinic's algorithm that finds no more demand has met a best upper set: all
// left-over supply is in it, edges upwards have no limit, so nothing above is outside, no
// demand in it is unmet, and nothing flows in from outside, or the search would have gone
// there. It is the smallest one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "portable.hpp"
#include "upper_sweep.hpp"

namespace abers {

// How a test point compares with a calibration point. Equal ones are both.
enum Comparison : unsigned char { kApart = 0, kTestAbove = 1, kTestBelow = 2, kEqual = 3 };

inline Comparison compared(const double* row, const double* point, std::size_t columns) {
  bool above = true, below = true;
  for (std::size_t c = 0; c < columns; ++c) {
    above &= row[c] >= point[c];
    below &= row[c] <= point[c];
  }
  return static_cast<Comparison>((above ? kTestAbove : kApart) +
                                 (below ? kTestBelow : kApart));
}

class CoverOrder {
 public:
  CoverOrder(const double* points, std::size_t size, std::size_t columns)
      : points_(points), size_(size), columns_(columns), starts_(size + 1, 0) {
    const std::size_t words = (size + 63) / 64;
    const std::vector<std::uint64_t> above = relation(words);
    std::vector<std::uint64_t> rest(words);
    for (std::size_t i = 0; i < size; ++i) {
      // The first point above i has nothing between; what is above it, has.
      std::copy_n(above.begin() + static_cast<std::ptrdiff_t>(i * words), words,
                  rest.begin());
      for (std::size_t w = i / 64; w < words; ++w) {
        while (rest[w] != 0) {
          const std::size_t j = 64 * w + static_cast<std::size_t>(trailing_zeros(rest[w]));
          covers_.push_back(static_cast<std::uint32_t>(j));
          rest[w] &= rest[w] - 1;
          for (std::size_t v = w; v < words; ++v) rest[v] &= ~above[j * words + v];
        }
      }
      starts_[i + 1] = covers_.size();
    }
  }

  const double* points() const { return points_; }
  std::size_t size() const { return size_; }
  std::size_t columns() const { return columns_; }
  const std::uint32_t* begin(std::size_t i) const { return covers_.data() + starts_[i]; }
  const std::uint32_t* end(std::size_t i) const { return covers_.data() + starts_[i + 1]; }

 private:
  // Row i has the bits of all points above i, and not of i: one column after the other, the
  // points that are not lower in it.
  std::vector<std::uint64_t> relation(std::size_t words) const {
    std::vector<std::uint64_t> above(size_ * words, ~std::uint64_t{0});
    std::vector<std::uint32_t> falling(size_);
    for (std::uint32_t i = 0; i < size_; ++i) falling[i] = i;
    for (std::size_t c = 0; c < columns_; ++c) {
      const auto value = [&](std::uint32_t i) { return points_[i * columns_ + c]; };
      std::sort(falling.begin(), falling.end(),
                [&](std::uint32_t i, std::uint32_t j) { return value(i) > value(j); });
      std::vector<std::uint64_t> met(words, 0);
      for (std::size_t from = 0, to = 0; from < size_; from = to) {
        for (; to < size_ && value(falling[to]) == value(falling[from]); ++to) {
          met[falling[to] / 64] |= std::uint64_t{1} << falling[to] % 64;
        }
        for (std::size_t at = from; at < to; ++at) {
          std::uint64_t* row = above.data() + falling[at] * words;
          for (std::size_t w = 0; w < words; ++w) row[w] &= met[w];
        }
      }
    }
    for (std::size_t i = 0; i < size_; ++i) {
      above[i * words + i / 64] &= ~(std::uint64_t{1} << i % 64);
    }
    return above;
  }

  const double* points_;
  std::size_t size_, columns_;
  std::vector<std::size_t> starts_;
  std::vector<std::uint32_t> covers_;
};

// The memory of one thread.
class Flow {
 public:
  explicit Flow(const CoverOrder& order)
      : order_(&order), nodes_(2 * order.size() + 1, kNone) {}

  void place_test(const double* row) { row_ = row; }

  // Find the smallest best upper set; false if it is empty, since no sum is above 0.
  bool best(const Places& places, const Excesses& excesses, std::vector<char>& inside) {
    connect(places);
    supply_.resize(places.size());
    demand_.resize(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      supply_[i] = std::max<std::int64_t>(excesses[i], 0);
      demand_[i] = std::max<std::int64_t>(-excesses[i], 0);
    }
    fetch();
    while (search()) {
      next_.assign(starts_.begin(), starts_.end() - 1);
      for (std::uint32_t i = 0; i < supply_.size(); ++i) {
        if (supply_[i] > 0) send(i);
      }
    }
    inside.resize(places.size());
    bool any = false;
    for (std::size_t i = 0; i < places.size(); ++i) {
      inside[i] = level_[i] != kNone;
      any = any || inside[i] != 0;
    }
    return any;
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  struct Arc {
    std::uint32_t to;
    std::uint32_t edge;  // what flows along it, upwards
    bool is_up;          // if not, it can only take back what flows
  };

  void connect(const Places& places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      nodes_[places[i]] = static_cast<std::uint32_t>(i);
    }
    lower_.clear();
    upper_.clear();
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      if (places[i] % 2 == 0) {
        connect_test(places, i);
        continue;
      }
      const std::uint32_t point = places[i] / 2;
      for (auto j = order_->begin(point); j != order_->end(point); ++j) {
        const std::uint32_t above = nodes_[2 * *j + 1];
        if (above != kNone) add_edge(i, above);
      }
    }
    for (const std::uint32_t place : places) nodes_[place] = kNone;
    flow_.assign(lower_.size(), 0);
    starts_.assign(places.size() + 1, 0);
    for (std::size_t e = 0; e < lower_.size(); ++e) {
      ++starts_[lower_[e] + 1];
      ++starts_[upper_[e] + 1];
    }
    for (std::size_t i = 0; i < places.size(); ++i) starts_[i + 1] += starts_[i];
    arcs_.resize(2 * lower_.size());
    next_.assign(starts_.begin(), starts_.end() - 1);
    for (std::uint32_t e = 0; e < lower_.size(); ++e) {
      arcs_[next_[lower_[e]]++] = {upper_[e], e, true};
      arcs_[next_[upper_[e]]++] = {lower_[e], e, false};
    }
  }

  void connect_test(const Places& places, std::uint32_t test) {
    const std::size_t columns = order_->columns();
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      if (i == test) continue;
      const double* point = order_->points() + places[i] / 2 * columns;
      const Comparison found = compared(row_, point, columns);
      if (found == kTestAbove) add_edge(i, test);
      if (found == kTestBelow) add_edge(test, i);
    }
  }

  void add_edge(std::uint32_t from, std::uint32_t to) {
    lower_.push_back(from);
    upper_.push_back(to);
  }

  bool is_open(const Arc& arc) const { return arc.is_up || flow_[arc.edge] > 0; }

  // Let each demand fetch supply from below, deepest search first, before anything is improved:
  // Dinic's algorithm alone would lengthen its paths step by step, and chains are long. A point
  // with no supply on or below it is never visited again.
  void fetch() {
    next_.assign(starts_.begin(), starts_.end() - 1);
    for (std::uint32_t i = 0; i < demand_.size(); ++i) {
      path_.clear();
      for (std::uint32_t at = i; demand_[i] > 0;) {
        if (supply_[at] > 0) {
          const std::int64_t amount = std::min(supply_[at], demand_[i]);
          supply_[at] -= amount;
          demand_[i] -= amount;
          for (const std::size_t a : path_) flow_[arcs_[a].edge] += amount;
        } else if (next_[at] < starts_[at + 1]) {
          const std::size_t a = next_[at];
          if (arcs_[a].is_up) {
            ++next_[at];
          } else {
            path_.push_back(a);
            at = arcs_[a].to;
          }
        } else {
          if (path_.empty()) break;
          at = tail(path_.back());
          ++next_[at];
          path_.pop_back();
        }
      }
    }
  }

  // Number the points by their distance from left-over supply, up to the nearest demand.
  bool search() {
    level_.assign(supply_.size(), kNone);
    queue_.clear();
    for (std::uint32_t i = 0; i < supply_.size(); ++i) {
      if (supply_[i] == 0) continue;
      level_[i] = 0;
      queue_.push_back(i);
    }
    goal_ = kNone;
    for (std::size_t head = 0; head < queue_.size(); ++head) {
      const std::uint32_t from = queue_[head];
      if (level_[from] == goal_) return true;
      for (std::size_t a = starts_[from]; a < starts_[from + 1]; ++a) {
        const Arc& arc = arcs_[a];
        if (level_[arc.to] != kNone || !is_open(arc)) continue;
        level_[arc.to] = level_[from] + 1;
        if (demand_[arc.to] > 0) goal_ = level_[arc.to];
        queue_.push_back(arc.to);
      }
    }
    return goal_ != kNone;
  }

  // Send all that the levels let through from one point. Not by recursion: chains are long.
  void send(std::uint32_t from) {
    path_.clear();  // arcs from `from` to `at`
    std::uint32_t at = from;
    while (supply_[from] > 0) {
      if (level_[at] == goal_ && demand_[at] > 0) {
        at = deliver(from, at);
      } else if (level_[at] < goal_ && next_[at] < starts_[at + 1]) {
        const Arc& arc = arcs_[next_[at]];
        if (level_[arc.to] == level_[at] + 1 && is_open(arc)) {
          path_.push_back(next_[at]);
          at = arc.to;
        } else {
          ++next_[at];
        }
      } else {  // a dead end
        if (path_.empty()) return;
        at = tail(path_.back());
        ++next_[at];
        path_.pop_back();
      }
    }
  }

  // Move what can be moved along the path; return where to go on.
  std::uint32_t deliver(std::uint32_t from, std::uint32_t to) {
    std::int64_t amount = std::min(supply_[from], demand_[to]);
    for (const std::size_t a : path_) {
      if (!arcs_[a].is_up) amount = std::min(amount, flow_[arcs_[a].edge]);
    }
    supply_[from] -= amount;
    demand_[to] -= amount;
    std::size_t open = path_.size();
    for (std::size_t step = path_.size(); step-- > 0;) {
      const Arc& arc = arcs_[path_[step]];
      flow_[arc.edge] += arc.is_up ? amount : -amount;
      if (!is_open(arc)) open = step;
    }
    if (open == path_.size()) return to;
    const std::uint32_t back = tail(path_[open]);
    path_.resize(open);
    return back;
  }

  std::uint32_t tail(std::size_t a) const {
    return arcs_[a].is_up ? lower_[arcs_[a].edge] : upper_[arcs_[a].edge];
  }

  const CoverOrder* order_;
  const double* row_ = nullptr;
  std::uint32_t goal_ = kNone;
  std::vector<std::uint32_t> nodes_;          // of a place
  std::vector<std::uint32_t> lower_, upper_;  // ends of an edge
  std::vector<std::int64_t> flow_, supply_, demand_;
  std::vector<Arc> arcs_;
  std::vector<std::size_t> starts_, next_, path_;
  std::vector<std::uint32_t> level_, queue_;
};

}  // namespace abers
