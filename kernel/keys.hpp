// Find a score among the keys of a fold: how many are smaller, and whether one is equal.
//
// Input:   ascending keys without NaN, below 2^32 of them; scores that may be NaN.
// Memory:  the caller owns the keys, and keeps them; the cells own 4 bytes per key.
// Failure: std::bad_alloc in the constructor; a NaN gets some place.
// Cost:    four comparisons without branches where cells hold few keys, and the logarithm of
//          what a cell holds elsewhere.
//
// The maps from scores to cells are those of lookup.hpp. The work is cut into steps, so that a
// caller with many scores can ask for the memory of the next step in time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "diagram.hpp"
#include "lookup.hpp"
#include "memory.hpp"
#include "portable.hpp"

namespace abers {

// Where a score stands among the keys: `a` lie below it, `b` not above it.
struct Place {
  std::uint32_t a, b;
};

class KeyCells {
 public:
  KeyCells() = default;

  KeyCells(const double* keys, std::size_t size)
      : keys_(keys), size_(static_cast<std::uint32_t>(size)) {
    if (size < kProbes) return;
    const std::size_t cells = std::max<std::size_t>(size, 64);
    // The few keys far out would make the cells of the many too wide; they share the outer
    // cells. No width starts at -inf.
    const std::size_t few = std::max<std::size_t>(size / 64, std::isinf(keys[0]) ? 1 : 0);
    const std::size_t many = size - few - size / 64;
    linear_ = Linear::over(keys + few, many, cells);
    bits_ = Bits::over(keys + few, many, cells);
    starts_ = counted(linear_, cells);
    Vector<std::uint32_t> others = counted(bits_, cells);
    by_bits_ = crowding(others) < crowding(starts_);
    if (by_bits_) starts_.swap(others);
  }

  std::size_t bytes() const { return starts_.capacity() * sizeof(std::uint32_t); }
  std::size_t cells() const { return starts_.empty() ? 1 : starts_.size() - 1; }

  std::uint32_t cell(double s) const {
    if (starts_.empty()) return 0;
    return by_bits_ ? bits_(s) : linear_(s);
  }
  void prefetch(std::uint32_t cell) const { abers::prefetch(starts_.data() + cell); }

  // The first of the keys to compare; those before lie in earlier cells.
  std::uint32_t first(std::uint32_t cell) const {
    if (starts_.empty()) return 0;
    const std::uint32_t first = std::min(starts_[cell], size_ - kProbes);
    abers::prefetch(keys_ + first);
    abers::prefetch(keys_ + first + kProbes - 1);
    return first;
  }

  Place place(double s) const { return place(s, first(cell(s))); }

  Place place(double s, std::uint32_t first) const {
    if (size_ < kProbes) return searched(s, 0);
    const double* from = keys_ + first;
    std::uint32_t below = 0, tied = 0;
    for (std::uint32_t i = 0; i < kProbes; ++i) {  // without branches
      below += from[i] < s;
      tied += from[i] == s;
    }
    if (below == kProbes) return searched(s, first + kProbes);
    return {first + below, first + below + tied};
  }

 private:
  static constexpr std::uint32_t kProbes = 4;

  Place searched(double s, std::uint32_t from) const {
    const auto a = static_cast<std::uint32_t>(gallop(keys_, from, size_, s));
    return {a, a + (a < size_ && keys_[a] == s)};
  }

  template <class Map>
  Vector<std::uint32_t> counted(const Map& map, std::size_t cells) const {
    Vector<std::uint32_t> starts(cells + 1, 0);
    for (std::uint32_t j = 0; j < size_; ++j) ++starts[map(keys_[j]) + 1];
    for (std::size_t c = 0; c < cells; ++c) starts[c + 1] += starts[c];
    return starts;
  }

  // What the keys themselves, looked up, would find in their cells beyond the probes.
  static double crowding(const Vector<std::uint32_t>& starts) {
    double total = 0;
    for (std::size_t c = 0; c + 1 < starts.size(); ++c) {
      const std::uint32_t inside = starts[c + 1] - starts[c];
      if (inside > kProbes) total += inside;
    }
    return total;
  }

  const double* keys_ = nullptr;
  std::uint32_t size_ = 0;
  Linear linear_{};
  Bits bits_{};
  bool by_bits_ = false;
  Vector<std::uint32_t> starts_;
};

}  // namespace abers
