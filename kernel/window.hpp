// A changing calibration set, whole or the last N observations of it.
//
// Input:   as for the tree of online.hpp; N, or 0 for a set that keeps all; which way
//          probability runs.
// Memory:  the tree, and 16 bytes for each arrival that is still in the window.
// Failure: std::bad_alloc, after which the set must not be used.
// Cost:    that of the tree; forgetting what was removed by hand is linear, but paid for by the
//          removals.
//
// An observation of weight w counts as w observations, here, too: the window holds the last N of
// them, and the oldest arrival may stay in part. What is removed by hand is the oldest of its
// kind. It is only noted as gone, and skipped when it comes to the front of the queue.
//
// If probability falls with the score, the tree holds the labels exchanged (rule.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "online.hpp"
#include "rule.hpp"

namespace abers {

class OnlineSet {
 public:
  using Mass = OnlineTree::Mass;

  struct Arrival {
    double score;
    std::uint64_t code;  // twice the number of observations, and the label in the tree

    bool label() const { return code & 1; }
    std::uint64_t count() const { return code >> 1; }
    Mass mass() const { return label() ? Mass{0, count()} : Mass{count(), 0}; }
  };

  OnlineSet(std::uint64_t window, Direction direction, OnlineTree tree = OnlineTree())
      : window_(window), direction_(direction), tree_(std::move(tree)) {}

  const OnlineTree& tree() const { return tree_; }

  // Masses of label 0 and label 1, as the tree has them or as they came: the same exchange.
  Mass exchanged(Mass mass) const {
    return direction_ == Direction::increasing ? mass : Mass{mass.y, mass.n};
  }

  Pair bounds(double score) const {
    const auto [zero, one] = tree_.bounds(score);
    return pair_of(zero, one, direction_);
  }

  void add(double score, Mass mass) {
    mass = exchanged(mass);
    tree_.add(score, mass);
    if (window_ == 0) return;
    if (mass.n > 0) queue_.push_back({score, 2 * mass.n});
    if (mass.y > 0) queue_.push_back({score, 2 * mass.y + 1});
    for (std::uint64_t all = live(); all > window_; all = live()) evict(all - window_);
  }

  // False, and nothing is changed, if there are fewer.
  bool remove(double score, Mass mass) {
    mass = exchanged(mass);
    if (!tree_.remove(score, mass)) return false;
    if (window_ == 0) return true;
    Mass& gone = gone_[score];
    gone = gone + mass;
    n_gone_ += mass.n + mass.y;
    if (n_gone_ > live() + kPatience) forget();
    return true;
  }

  // What is in the window, the oldest first.
  std::vector<Arrival> arrivals() {
    forget();
    return {queue_.begin(), queue_.end()};
  }

 private:
  static constexpr std::uint64_t kPatience = 1024;

  std::uint64_t live() const { return tree_.total().n + tree_.total().y; }

  // How many of an arrival were removed by hand; these are forgotten.
  std::uint64_t take_gone(const Arrival& arrival) {
    const auto found = gone_.find(arrival.score);
    if (found == gone_.end()) return 0;
    std::uint64_t& gone = arrival.label() ? found->second.y : found->second.n;
    const std::uint64_t taken = std::min(gone, arrival.count());
    gone -= taken;
    n_gone_ -= taken;
    if (found->second.n + found->second.y == 0) gone_.erase(found);
    return taken;
  }

  void evict(std::uint64_t excess) {
    Arrival oldest = queue_.front();
    oldest.code -= 2 * take_gone(oldest);
    const std::uint64_t leaving = std::min(excess, oldest.count());
    if (leaving > 0) {
      tree_.remove(oldest.score, oldest.label() ? Mass{0, leaving} : Mass{leaving, 0});
    }
    oldest.code -= 2 * leaving;
    if (oldest.count() > 0) {
      queue_.front() = oldest;
    } else {
      queue_.pop_front();
    }
  }

  void forget() {
    std::deque<Arrival> kept;
    for (Arrival arrival : queue_) {
      arrival.code -= 2 * take_gone(arrival);
      if (arrival.count() > 0) kept.push_back(arrival);
    }
    queue_ = std::move(kept);
  }

  std::uint64_t window_;
  Direction direction_;
  OnlineTree tree_;
  std::deque<Arrival> queue_;
  std::map<double, Mass> gone_;
  std::uint64_t n_gone_ = 0;
};

}  // namespace abers
