// The best upper set of points in the plane, by a sweep: no flow network.
//
// Input:   distinct points (x, y), sorted by x, then y; one test point, anywhere; places of
//          the points that count, ascending, and an excess for each (see below).
// Memory:  the order owns 4 bytes per point; a sweep, one for each thread, some 20.
// Failure: std::bad_alloc when either is made, or when a sweep first meets many points.
// Cost:    O(m log m) for m points that count.
//
// Every point has an excess, positive or negative; wanted is an upper set (with a point, all
// above it) whose sum is largest. The places by (x, y) and the heights by (y, x) are two
// linear orders, and p <= q if and only if p comes before q in both: ties are settled here,
// once, and none is left. Calibration point i has place 2 i + 1 and an odd height, so that a
// test point finds room at an even place and an even height.
//
// *As transport.* Let every positive p have its excess as a supply, every negative q as much as
// a demand, and let p send to any q above it. What the positives of an upper set U send stays in
// U, so it is at most U's demand, and sum(U), which is U's supply minus its demand, is at most
// what U has left over, and that at most what all have left over. So U is best if it holds all
// left-over supply and all of its demand is met, and met from inside.
//
// *The greedy choice is the best.* Take the negatives in the order of places. When q comes, the
// supplies that q could use are those before it, with a height below its own. Say q takes from
// the highest of them, p, while some best plan lets q take that unit from p', lower than p, or
// not at all. In the plan, p's unit goes to some r after q, or nowhere. If to r: p' < p < r in
// height and p' < q < r in place, so p' may send to r: exchange the two units. If nowhere, let q
// take it from p: the plan is as good as before. So some best plan agrees with the sweep, unit
// by unit.
//
// *The set.* Start with the positives whose supply is left over. With a positive take all
// negatives above it, and with a negative all positives that sent to it: these are the
// *generators*. No negative that is met has demand left, since supply could be passed on to it
// along the way. So the set of what lies on or above a generator is a best one, as all of its
// demand is met, and from inside; a positive p above a generator is one itself, because what it
// sends goes to negatives above that generator. It is the smallest best set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "portable.hpp"

namespace abers {

using Places = std::vector<std::uint32_t>;   // of points that count, ascending
using Excesses = std::vector<std::int64_t>;  // one for each of these

// A set of numbers below a bound, as bits of bits: the largest member not above h.
class BitTree {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  explicit BitTree(std::size_t bound) {
    do {
      bound = (bound + 63) / 64;
      levels_.emplace_back(std::max<std::size_t>(bound, 1), 0);
    } while (bound > 1);
  }

  void insert(std::size_t h) {
    for (auto& level : levels_) {
      level[h / 64] |= std::uint64_t{1} << h % 64;
      h /= 64;
    }
  }

  void erase(std::size_t h) {
    for (auto& level : levels_) {
      level[h / 64] &= ~(std::uint64_t{1} << h % 64);
      if (level[h / 64] != 0) return;
      h /= 64;
    }
  }

  std::size_t at_most(std::size_t h) const {
    for (std::size_t up = 0; up < levels_.size(); ++up) {
      const std::uint64_t below =
          levels_[up][h / 64] & (~std::uint64_t{0} >> (63 - h % 64));
      if (below != 0) {
        h = h / 64 * 64 + highest(below);
        while (up-- > 0) h = h * 64 + highest(levels_[up][h]);
        return h;
      }
      if (h < 64) return kNone;
      h = h / 64 - 1;
    }
    return kNone;
  }

 private:
  static std::size_t highest(std::uint64_t word) {
    return 63 - static_cast<std::size_t>(leading_zeros(word));
  }

  std::vector<std::vector<std::uint64_t>> levels_;
};

// Numbers at places, of which the next that is large enough is found, and taken away.
class MaximumTree {
 public:
  void reset(std::size_t size) {
    leaves_ = 1;
    while (leaves_ < size) leaves_ *= 2;
    most_.assign(2 * leaves_, 0);
  }
  void put(std::size_t at, std::uint32_t value) { most_[leaves_ + at] = value; }
  void build() {
    for (std::size_t node = leaves_ - 1; node > 0; --node) {
      most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
    }
  }

  static constexpr std::size_t kNone = ~std::size_t{0};

  // The first place from `from` on with a value of at least `least`, which is not 0.
  std::size_t next(std::size_t from, std::uint32_t least) const {
    if (from >= leaves_) return kNone;
    std::size_t node = leaves_ + from;
    while (most_[node] < least) {  // to the next subtree on the right
      while (node % 2 == 1) {
        node /= 2;
        if (node <= 1) return kNone;
      }
      ++node;
    }
    while (node < leaves_) node = 2 * node + (most_[2 * node] < least ? 1 : 0);
    return node - leaves_;
  }

  void take(std::size_t at) {
    std::size_t node = leaves_ + at;
    most_[node] = 0;
    while ((node /= 2) > 0) most_[node] = std::max(most_[2 * node], most_[2 * node + 1]);
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<std::uint32_t> most_;
};

class PlaneOrder {
 public:
  // Points as pairs side by side; of one column, x is y as well.
  PlaneOrder(const double* points, std::size_t size, std::size_t columns)
      : points_(points), columns_(columns), by_height_(size), heights_(size) {
    std::iota(by_height_.begin(), by_height_.end(), std::uint32_t{0});
    // The places are in the order of x: a stable sort by y leaves equal ones so.
    std::stable_sort(by_height_.begin(), by_height_.end(),
                     [&](std::uint32_t i, std::uint32_t j) { return y(i) < y(j); });
    for (std::uint32_t rank = 0; rank < size; ++rank) {
      heights_[by_height_[rank]] = 2 * rank + 1;
    }
  }

  std::size_t size() const { return heights_.size(); }
  std::uint32_t height(std::uint32_t point) const { return heights_[point]; }

  // The even height of a test point that no calibration point equals.
  std::uint32_t height_of(const double* row) const {
    const double test_x = row[0], test_y = row[columns_ - 1];
    const auto at =
        std::partition_point(by_height_.begin(), by_height_.end(), [&](std::uint32_t i) {
          return y(i) < test_y || (y(i) == test_y && x(i) < test_x);
        });
    return static_cast<std::uint32_t>(2 * (at - by_height_.begin()));
  }

 private:
  double x(std::uint32_t i) const { return points_[i * columns_]; }
  double y(std::uint32_t i) const { return points_[i * columns_ + columns_ - 1]; }

  const double* points_;
  std::size_t columns_;
  std::vector<std::uint32_t> by_height_, heights_;
};

// The memory of one thread.
class Sweep {
 public:
  explicit Sweep(const PlaneOrder& order)
      : order_(&order), supplies_(2 * order.size() + 1), owners_(2 * order.size() + 1) {}

  void place_test(const double* row) { test_height_ = order_->height_of(row); }

  // Find the smallest best upper set; false if it is empty, since no sum is above 0.
  bool best(const Places& places, const Excesses& excesses, std::vector<char>& inside) {
    const std::size_t size = places.size();
    heights_.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
      heights_[i] = places[i] % 2 == 1 ? order_->height(places[i] / 2) : test_height_;
    }
    send(excesses);
    generators_.clear();
    inside.assign(size, 0);
    for (std::size_t i = 0; i < size; ++i) {
      if (left_[i] == 0) continue;
      supplies_.erase(heights_[i]);
      generators_.push_back(static_cast<std::uint32_t>(i));
      inside[i] = 1;
    }
    if (generators_.empty()) return false;
    reach(excesses, inside);
    std::uint32_t lowest = ~std::uint32_t{0};  // of the generators so far
    for (std::size_t i = 0; i < size; ++i) {
      if (inside[i] != 0) lowest = std::min(lowest, heights_[i]);
      inside[i] = heights_[i] >= lowest;
    }
    return true;
  }

 private:
  void send(const Excesses& excesses) {
    const std::size_t size = excesses.size();
    left_.assign(size, 0);
    first_sender_.resize(size + 1);
    senders_.clear();
    for (std::size_t i = 0; i < size; ++i) {
      first_sender_[i] = senders_.size();
      if (excesses[i] > 0) {
        left_[i] = excesses[i];
        supplies_.insert(heights_[i]);
        owners_[heights_[i]] = static_cast<std::uint32_t>(i);
      }
      for (std::int64_t demand = -excesses[i]; demand > 0;) {
        const std::size_t height = supplies_.at_most(heights_[i]);
        if (height == BitTree::kNone) break;
        const std::uint32_t from = owners_[height];
        const std::int64_t sent = std::min(demand, left_[from]);
        demand -= sent;
        left_[from] -= sent;
        senders_.push_back(from);
        if (left_[from] == 0) supplies_.erase(height);
      }
    }
    first_sender_[size] = senders_.size();
  }

  void reach(const Excesses& excesses, std::vector<char>& is_generator) {
    negatives_.reset(excesses.size());
    for (std::size_t i = 0; i < excesses.size(); ++i) {
      if (excesses[i] < 0) negatives_.put(i, heights_[i] + 1);  // 0 is none
    }
    negatives_.build();
    while (!generators_.empty()) {
      const std::uint32_t from = generators_.back();
      generators_.pop_back();
      const std::uint32_t least = heights_[from] + 1;
      for (std::size_t q = negatives_.next(from, least); q != MaximumTree::kNone;
           q = negatives_.next(q, least)) {
        negatives_.take(q);
        for (std::size_t s = first_sender_[q]; s < first_sender_[q + 1]; ++s) {
          const std::uint32_t sender = senders_[s];
          if (is_generator[sender] != 0) continue;
          is_generator[sender] = 1;
          generators_.push_back(sender);
        }
      }
    }
  }

  const PlaneOrder* order_;
  std::uint32_t test_height_ = 0;
  BitTree supplies_;
  std::vector<std::uint32_t> owners_;  // of the supply at a height
  std::vector<std::uint32_t> heights_, senders_, generators_;
  std::vector<std::size_t> first_sender_;
  Excesses left_;
  MaximumTree negatives_;
};

}  // namespace abers
