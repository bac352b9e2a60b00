// Scores that only come: how many lie below a new one, and how many equal it.
//
// Input:   scores other than NaN, -0.0 as 0.0.
// Memory:  16 bytes for each distinct score of the beginning, however often it is there; for each
//          score that is added 8, and half as much again for the room to grow.
// Failure: std::bad_alloc, after which the ranks must not be used.
// Cost:    k scores in blocks of B: a rank takes O(log k), to add O(B + log k), and once in B
//          times the blocks are counted anew, which takes O(k / B).
//
// The scores of the beginning stay as they are: distinct ones with cumulated counts. Those that
// are added stand in order in blocks, as in a B-tree of two levels. A Fenwick tree counts those
// before a block.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace abers {

class Ranks {
 public:
  struct Rank {
    std::uint64_t below, equal;
  };

  static constexpr std::size_t kBlockSize = 512;

  // Blocks of other sizes are for tests: the answers are the same.
  explicit Ranks(std::size_t block_size = kBlockSize) : block_size_(block_size) {}

  // Begin with distinct scores in ascending order, and how often each of them is there.
  Ranks(const double* scores, const std::int64_t* counts, std::size_t n_distinct,
        std::size_t block_size = kBlockSize)
      : block_size_(block_size),
        initial_(scores, scores + n_distinct),
        at_most_(n_distinct) {
    for (std::size_t i = 0; i < n_distinct; ++i) {
      at_most_[i] = size_ += static_cast<std::uint64_t>(counts[i]);
    }
  }

  std::uint64_t size() const { return size_; }

  Rank rank(double score) const {
    const auto [first, last] = std::equal_range(initial_.begin(), initial_.end(), score);
    const std::uint64_t initially_below = initially_before(first);
    const std::uint64_t initially_equal = initially_before(last) - initially_below;
    const auto first_not_below = std::lower_bound(firsts_.begin(), firsts_.end(), score);
    const auto first_above = std::upper_bound(first_not_below, firsts_.end(), score);
    std::uint64_t below = 0, at_most = 0;
    // What begins below the score may end below it or not.
    if (first_not_below != firsts_.begin()) {
      const auto at = static_cast<std::size_t>(first_not_below - firsts_.begin()) - 1;
      const Block& block = blocks_[at];
      const auto place = std::lower_bound(block.begin(), block.end(), score);
      below = before(at) + static_cast<std::uint64_t>(place - block.begin());
    }
    if (first_above != firsts_.begin()) {
      const auto at = static_cast<std::size_t>(first_above - firsts_.begin()) - 1;
      const Block& block = blocks_[at];
      const auto place = std::upper_bound(block.begin(), block.end(), score);
      at_most = before(at) + static_cast<std::uint64_t>(place - block.begin());
    }
    return {initially_below + below, initially_equal + at_most - below};
  }

  void add(double score) {
    ++size_;
    if (blocks_.empty()) {
      append(&score, &score + 1);
      count_anew();
      return;
    }
    const auto above = std::upper_bound(firsts_.begin(), firsts_.end(), score);
    const auto at =
        static_cast<std::size_t>(above - firsts_.begin()) - (above != firsts_.begin());
    Block& block = blocks_[at];
    block.insert(std::upper_bound(block.begin(), block.end(), score), score);
    firsts_[at] = block.front();
    if (block.size() <= 2 * block_size_) {
      for (std::size_t i = at + 1; i <= counts_.size(); i += i & (~i + 1)) ++counts_[i - 1];
      return;
    }
    const auto half = block.begin() + static_cast<std::ptrdiff_t>(block.size() / 2);
    Block upper = block_of(half, block.end());
    block.erase(half, block.end());
    const auto next = static_cast<std::ptrdiff_t>(at) + 1;
    firsts_.insert(firsts_.begin() + next, upper.front());
    blocks_.insert(blocks_.begin() + next, std::move(upper));
    count_anew();
  }

  // The added scores, in order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Block& block : blocks_)
      for (const double score : block) visit(score);
  }

 private:
  using Block = std::vector<double>;

  // The scores of the beginning before this place.
  std::uint64_t initially_before(Block::const_iterator place) const {
    return place == initial_.begin() ? 0 : at_most_[place - initial_.begin() - 1];
  }

  template <class Iterator>
  Block block_of(Iterator first, Iterator last) const {
    Block block;
    block.reserve(2 * block_size_ + 1);
    block.assign(first, last);
    return block;
  }

  void append(const double* first, const double* last) {
    firsts_.push_back(*first);
    blocks_.push_back(block_of(first, last));
  }

  // The scores in the blocks before this one.
  std::uint64_t before(std::size_t at) const {
    std::uint64_t sum = 0;
    for (std::size_t i = at; i > 0; i -= i & (~i + 1)) sum += counts_[i - 1];
    return sum;
  }

  void count_anew() {
    counts_.assign(blocks_.size(), 0);
    for (std::size_t i = 1; i <= counts_.size(); ++i) {
      counts_[i - 1] += blocks_[i - 1].size();
      const std::size_t parent = i + (i & (~i + 1));
      if (parent <= counts_.size()) counts_[parent - 1] += counts_[i - 1];
    }
  }

  std::size_t block_size_;
  std::uint64_t size_ = 0;
  Block initial_;                       // distinct scores of the beginning
  std::vector<std::uint64_t> at_most_;  // of the beginning, up to each of them
  std::vector<Block> blocks_;
  std::vector<double> firsts_;         // of each block
  std::vector<std::uint64_t> counts_;  // Fenwick's sums of the sizes
};

}  // namespace abers
