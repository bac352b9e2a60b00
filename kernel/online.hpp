// Observations that come and go: the bounds of a changing calibration set.
//
// Input:   scores other than NaN, -0.0 as 0.0; masses (n, y) not both 0; fewer than 2^53
//          observations in all.
// Memory:  a tree of leaves with up to 2 * leaf_size keys each: 24 bytes per key, half as much
//          again for the room to grow, and 16 bytes for each corner of a leaf's minorant.
// Failure: std::bad_alloc, after which the tree must not be used; remove() answers false, and
//          changes nothing, if less than the mass is there.
// Cost:    k keys: add, remove and bounds take O(log^3 k) at worst, O(log^2 k) in practice. No
//          step rebuilds the whole, so the longest is not much longer than the usual one.
//
// *What is stored.* A key is a distinct score with its masses; its point is the cumulated (n, y)
// just after it. The tree holds its keys in leaves. A leaf knows the minorant of its points, an
// inner node the one edge, the bridge, that joins the minorants of its two parts: the vector from
// a point of the left part to a point of the right part below which no point of either lies. So
// the point of a subtree where h_t(P) = y - t (n + y) is least is found by one descent: where
// the bridge is less steep than t it lies in the right part, else in the left part.
//
// A bridge is itself a root: at the slope t the two parts choose the points where their h_t is
// least, and t is the slope of the bridge if it is the slope of the vector between these points.
// The vector holds at least the first key of the right part, as the lemma on Newton's steps
// (pooled.hpp) needs. When a leaf changes, the bridges above it are found again, from the top of
// the leaf upwards, each starting from what it was: mostly that is still right.
//
// *A query* is the star of pooled.hpp with one chain: for the label l the value at the score s is
// the root of
//
//   phi(t) = (l - t) + min over P_b, P_b+1, … of h_t - min over P_0, …, P_a of h_t,
//
// with a keys below s and b not above it. The path from the root of the tree to the leaf of s
// leaves whole subtrees on its left and on its right; these, and the two parts of the leaf, answer
// the minima. If the bridge of a node on the path is at least as steep as t, the least of the
// node's points lies in its left part; where that is a whole subtree, nothing further down to the
// left of s is lower. The mirror image holds on the right.
//
// *Balance.* Weight-balanced by the number of leaves, with the parameters (3, 2) of Hirai and
// Yamamoto (2011), whose weight, size + 1, is the number of leaves. A leaf with too few keys is
// poured into the next leaf of its sibling, which splits if it is too large.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "geometry.hpp"
#include "slope_search.hpp"

namespace abers {

class OnlineTree {
 public:
  using Mass = Step<std::uint64_t>;

  struct Key {
    double score;
    Mass mass;
  };

  static constexpr std::size_t kLeafSize = 128;

  // Leaves of other sizes, and fewer of Newton's steps, are for tests: the answers are the same.
  explicit OnlineTree(std::size_t leaf_size = kLeafSize, int newton_steps = kNewtonSteps)
      : leaf_size_(leaf_size),
        newton_steps_(newton_steps),
        root_(leaf_of(nullptr, nullptr)) {}

  // From distinct scores, ascending.
  OnlineTree(const std::vector<Key>& keys, std::size_t leaf_size = kLeafSize,
             int newton_steps = kNewtonSteps)
      : OnlineTree(leaf_size, newton_steps) {
    if (!keys.empty()) root_ = built(keys.data(), keys.size());
    size_ = keys.size();
  }

  std::size_t size() const { return size_; }
  Mass total() const { return root_->sum; }

  Mass at(double score) const {
    const Node* node = root_.get();
    while (node->left) node = (score < node->separator ? node->left : node->right).get();
    const std::size_t i = position(node->keys, score);
    return holds(node->keys, i, score) ? node->keys[i].mass : Mass{0, 0};
  }

  void add(double score, Mass mass) { insert(root_, score, mass); }

  bool remove(double score, Mass mass) {
    const Mass there = at(score);
    if (there.n < mass.n || there.y < mass.y) return false;
    erase(root_, score, mass);
    return true;
  }

  template <class Visit>
  void for_each(Visit visit) const {
    walk(*root_, visit);
  }

  // The vectors whose slopes are the two bounds.
  std::pair<Mass, Mass> bounds(double score) const {
    const Query query(*this, score);
    const auto root = [&](Mass label, Mass start) {
      return root_of<std::uint64_t>([&](Mass t) { return query.chosen(t) + label; }, start,
                                    root_->sum.n + root_->sum.y + 1, newton_steps_);
    };
    const Mass is_zero{1, 0}, is_one{0, 1};
    const Mass zero = root(is_zero, query.nearest() + is_zero);
    return {zero, root(is_one, zero - is_zero + is_one)};
  }

  std::size_t bytes() const { return bytes_of(*root_); }

 private:
  struct Node {
    Mass sum{0, 0};
    std::uint32_t leaves = 1;
    // An inner node: the keys of the left part are below the separator, the others are not.
    double separator = 0;
    Mass bridge{0, 0};
    std::unique_ptr<Node> left, right;
    // A leaf.
    std::vector<Key> keys;
    std::vector<Mass> minorant;  // its corners, from the sum before the leaf
  };
  using Link = std::unique_ptr<Node>;

  // The first key that is not below the score.
  static std::size_t position(const std::vector<Key>& keys, double score) {
    const auto key = std::lower_bound(keys.begin(), keys.end(), score,
                                      [](const Key& k, double s) { return k.score < s; });
    return static_cast<std::size_t>(key - keys.begin());
  }

  static bool holds(const std::vector<Key>& keys, std::size_t i, double score) {
    return i < keys.size() && keys[i].score == score;
  }

  // The corner of a minorant where h_t is least.
  static Mass lowest(const std::vector<Mass>& corners, Mass t) {
    std::size_t first = 0, edges = corners.size() - 1;
    while (edges > 0) {
      const std::size_t half = edges / 2, middle = first + half;
      if (steeper(t, corners[middle + 1] - corners[middle])) {
        first = middle + 1;
        edges -= half + 1;
      } else {
        edges = half;
      }
    }
    return corners[first];
  }

  static Mass lowest(const Node* node, Mass t) {
    Mass before{0, 0};
    while (node->left) {
      if (steeper(t, node->bridge)) {
        before = before + node->left->sum;
        node = node->right.get();
      } else {
        node = node->left.get();
      }
    }
    return before + lowest(node->minorant, t);
  }

  // Graham's scan: the next point of the chain that `corners` begins.
  static void extend(std::vector<Mass>& corners, Mass point) {
    while (corners.size() >= 2) {
      const Mass last = corners.back(), before = corners[corners.size() - 2];
      if (steeper(point - last, last - before)) break;
      corners.pop_back();
    }
    corners.push_back(point);
  }

  Link leaf_of(const Key* first, const Key* last) const {
    auto leaf = std::make_unique<Node>();
    leaf->keys.reserve(2 * leaf_size_ + 1);
    leaf->keys.assign(first, last);
    summarise_leaf(*leaf);
    return leaf;
  }

  static void summarise_leaf(Node& leaf) {
    leaf.sum = {0, 0};
    leaf.minorant.clear();
    for (const Key& key : leaf.keys) {
      leaf.sum = leaf.sum + key.mass;
      extend(leaf.minorant, leaf.sum);
    }
  }

  // What an inner node knows of its parts. The bridge that it had is the first guess.
  void summarise(Node& node) const {
    const Node *left = node.left.get(), *right = node.right.get();
    node.sum = left->sum + right->sum;
    node.leaves = left->leaves + right->leaves;
    const Mass start = node.bridge.n + node.bridge.y > 0 ? node.bridge : node.sum;
    node.bridge = root_of<std::uint64_t>(
        [=](Mass t) { return left->sum + lowest(right, t) - lowest(left, t); }, start,
        node.sum.n + node.sum.y, newton_steps_);
  }

  Link joined(Link left, double separator, Link right) const {
    auto node = std::make_unique<Node>();
    node->separator = separator;
    node->left = std::move(left);
    node->right = std::move(right);
    summarise(*node);
    return node;
  }

  Link built(const Key* keys, std::size_t count) const {
    if (count <= leaf_size_ + leaf_size_ / 2) return leaf_of(keys, keys + count);
    const std::size_t half = count / 2;
    return joined(built(keys, half), keys[half].score, built(keys + half, count - half));
  }

  // A leaf whose keys have changed.
  void settle_leaf(Link& leaf) const {
    const std::size_t count = leaf->keys.size();
    if (count <= 2 * leaf_size_) {
      summarise_leaf(*leaf);
    } else {
      const Key* keys = leaf->keys.data();
      const std::size_t half = count / 2;
      leaf = joined(leaf_of(keys, keys + half), keys[half].score,
                    leaf_of(keys + half, keys + count));
    }
  }

  // An inner node one of whose parts has changed.
  void settle(Link& node) const {
    if (3 * node->left->leaves < node->right->leaves) {
      rotate(node, &Node::left, &Node::right);
    } else if (3 * node->right->leaves < node->left->leaves) {
      rotate(node, &Node::right, &Node::left);
    } else {
      summarise(*node);
    }
  }

  // The heavy side hands its inner part over, or, if that is too heavy, half of it.
  void rotate(Link& node, Link Node::* light, Link Node::* heavy) const {
    Link top = std::move((*node).*heavy);
    if (((*top).*light)->leaves < 2 * ((*top).*heavy)->leaves) {
      (*node).*heavy = std::move((*top).*light);
      summarise_anew(*node);
      (*top).*light = std::move(node);
    } else {
      Link middle = std::move((*top).*light);
      (*node).*heavy = std::move((*middle).*light);
      (*top).*light = std::move((*middle).*heavy);
      summarise_anew(*node);
      summarise_anew(*top);
      (*middle).*light = std::move(node);
      (*middle).*heavy = std::move(top);
      top = std::move(middle);
    }
    summarise_anew(*top);
    node = std::move(top);
  }

  void summarise_anew(Node& node) const {
    node.bridge = {0, 0};
    summarise(node);
  }

  void insert(Link& node, double score, Mass mass) {
    if (node->left) {
      insert(score < node->separator ? node->left : node->right, score, mass);
      settle(node);
      return;
    }
    std::vector<Key>& keys = node->keys;
    const std::size_t i = position(keys, score);
    if (holds(keys, i, score)) {
      keys[i].mass = keys[i].mass + mass;
    } else {
      keys.insert(keys.begin() + static_cast<std::ptrdiff_t>(i), {score, mass});
      ++size_;
    }
    settle_leaf(node);
  }

  void erase(Link& node, double score, Mass mass) {
    if (!node->left) {
      const auto key =
          node->keys.begin() + static_cast<std::ptrdiff_t>(position(node->keys, score));
      key->mass = key->mass - mass;
      if (key->mass.n + key->mass.y == 0) {
        node->keys.erase(key);
        --size_;
      }
      settle_leaf(node);
      return;
    }
    const bool on_the_left = score < node->separator;
    Link& part = on_the_left ? node->left : node->right;
    erase(part, score, mass);
    if (part->left || part->keys.size() >= std::max<std::size_t>(1, leaf_size_ / 2)) {
      settle(node);
    } else {
      Link rest = std::move(on_the_left ? node->right : node->left);
      if (!part->keys.empty()) pour(rest, part->keys, on_the_left);
      node = std::move(rest);
    }
  }

  // The keys go to the first leaf, or to the last one.
  void pour(Link& node, const std::vector<Key>& keys, bool first) const {
    if (node->left) {
      pour(first ? node->left : node->right, keys, first);
      settle(node);
    } else {
      node->keys.insert(first ? node->keys.begin() : node->keys.end(), keys.begin(),
                        keys.end());
      settle_leaf(node);
    }
  }

  template <class Visit>
  static void walk(const Node& node, Visit& visit) {
    if (node.left) {
      walk(*node.left, visit);
      walk(*node.right, visit);
    } else {
      for (const Key& key : node.keys) visit(key.score, key.mass);
    }
  }

  static std::size_t bytes_of(const Node& node) {
    return sizeof(Node) + node.keys.capacity() * sizeof(Key) +
           node.minorant.capacity() * sizeof(Mass) +
           (node.left ? bytes_of(*node.left) + bytes_of(*node.right) : 0);
  }

  // Where a score stands: the subtrees on either side of the path to it, the outermost first.
  class Query {
   public:
    Query(const OnlineTree& tree, double score) {
      const Node* node = tree.root_.get();
      Mass before{0, 0}, after = node->sum;  // of the part of the tree that is left
      while (node->left) {
        const Mass split = before + node->left->sum;
        if (score < node->separator) {
          right_.push_back({node->right.get(), split, node->bridge});
          after = split;
          node = node->left.get();
        } else {
          left_.push_back({node->left.get(), before, node->bridge});
          before = split;
          node = node->right.get();
        }
      }
      last_left_ = {before};
      auto key = node->keys.begin();
      for (; key != node->keys.end() && key->score < score; ++key) {
        before = before + key->mass;
        extend(last_left_, before);
      }
      if (key != node->keys.end() && key->score == score) before = before + (key++)->mass;
      last_right_ = {before};
      for (; key != node->keys.end(); ++key) {
        before = before + key->mass;
        extend(last_right_, before);
      }
      nearest_ = after - (left_.empty() ? Mass{0, 0} : left_.back().before);
    }

    // A guess: what lies about the score.
    Mass nearest() const { return nearest_; }

    // The masses between the lowest point on the left and the lowest on the right.
    Mass chosen(Mass t) const {
      Mass low{0, 0};  // P_0
      bool inner = true;
      for (const Side& side : left_) {
        const Mass point = side.before + lowest(side.node, t);
        if (steeper(t, point - low)) low = point;
        if (!steeper(t, side.bridge)) {
          inner = false;
          break;
        }
      }
      if (inner) {
        const Mass point = lowest(last_left_, t);
        if (steeper(t, point - low)) low = point;
      }
      Mass high{0, 0};
      bool any = false;
      inner = true;
      const auto consider = [&](Mass point) {
        if (!any || !steeper(t, high - point)) high = point;
        any = true;
      };
      for (const Side& side : right_) {
        consider(side.before + lowest(side.node, t));
        if (!steeper(side.bridge, t)) {
          inner = false;
          break;
        }
      }
      // P_b may come before all keys of these subtrees.
      consider(inner ? lowest(last_right_, t) : last_right_.front());
      return high - low;
    }

   private:
    struct Side {
      const Node* node;
      Mass before;  // the subtree
      Mass bridge;  // of its parent
    };
    std::vector<Side> left_, right_;
    std::vector<Mass> last_left_, last_right_;  // the two parts of the leaf, as minorants
    Mass nearest_;
  };

  std::size_t leaf_size_;
  int newton_steps_;
  std::size_t size_ = 0;
  Link root_;
};

}  // namespace abers
