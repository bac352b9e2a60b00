// Read the rule: from a score to its piece.
//
// Input:   ascending thresholds without NaN or -inf; scores that may be NaN.
// Memory:  the caller owns thresholds, values and output; the index owns its cells.
// Failure: none; scores that are NaN get NaN bounds and are counted.
// Cost:    a few nanoseconds per score where cells hold at most one threshold, and the
//          logarithm of what a cell holds elsewhere.
//
// The index cuts the range of the thresholds into cells by a monotone map and notes how many
// thresholds lie in the cells before. Monotone is all that matters: what lies in an earlier
// cell is smaller, so the search is confined to one cell. Two maps are offered. `Linear`
// suits scores spread over a range. `Bits` takes the leading bits of the floating-point
// number, that is its logarithm and a little more, and suits scores that pile up at zero
// over many orders of magnitude. The one with shorter searches for the calibration scores,
// known by their percentiles, is chosen when the index is made.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <system_error>
#include <thread>
#include <vector>

#include "memory.hpp"
#include "portable.hpp"
#include "rule.hpp"

namespace abers {

struct RuleView {  // a rule whose arrays are owned elsewhere
  const double* thresholds;
  std::size_t size;  // of thresholds; there is one pair more
  const Pair* bounds;
};

// Cells of equal width from `low` on; everything outside goes to the first or the last.
struct Linear {
  double low, scale, last;

  static Linear over(const double* thresholds, std::size_t size, std::size_t cells) {
    std::size_t finite = size;
    while (finite > 1 && std::isinf(thresholds[finite - 1])) --finite;
    const double width = thresholds[finite - 1] - thresholds[0];
    const double scale = static_cast<double>(cells) / width;
    return {thresholds[0], std::isfinite(scale) && std::isfinite(width) ? scale : 0.0,
            static_cast<double>(cells - 1)};
  }

  std::uint32_t operator()(double s) const {
    double x = (s - low) * scale;
    x = x > 0 ? x : 0;  // also what NaN and inf * 0 become
    x = x < last ? x : last;
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(x));  // SSE2 has this one
  }
};

// Cells by the leading bits of the number, in the order of the numbers.
struct Bits {
  std::uint64_t low, last;
  int shift;

  // Negative numbers are ordered backwards by their bits: flip them all, else the sign.
  static std::uint64_t ordered(double s) {
    s += 0.0;  // one kind of zero
    std::uint64_t bits;
    std::memcpy(&bits, &s, sizeof s);
    return bits ^ (bits >> 63 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
  }

  static Bits over(const double* thresholds, std::size_t size, std::size_t cells) {
    const std::uint64_t low = ordered(thresholds[0]);
    const std::uint64_t range = ordered(thresholds[size - 1]) - low;
    int shift = 0;
    while (range >> shift >= cells) ++shift;
    return {low, cells - 1, shift};
  }

  std::uint32_t operator()(double s) const {
    const std::uint64_t key = ordered(s);
    return static_cast<std::uint32_t>(key < low ? 0 : std::min((key - low) >> shift, last));
  }
};

class Index {
 public:
  Index() = default;

  // `sample`: scores as they will be asked for.
  Index(const double* thresholds, std::size_t size, const double* sample,
        std::size_t sample_size) {
    if (size == 0 || size > kLargest) return;  // one piece, or more than cells can count
    // More cells mean shorter searches until they no longer fit the caches (measured).
    const std::size_t per_threshold = size < kSmall ? 8 : size < kCached ? 4 : 1;
    std::size_t cells = 64;
    while (cells < per_threshold * size) cells *= 2;
    linear_ = Linear::over(thresholds, size, cells);
    bits_ = Bits::over(thresholds, size, cells);
    by_bits_ = cost(bits_, thresholds, size, sample, sample_size) <
               cost(linear_, thresholds, size, sample, sample_size);
    starts_ = by_bits_ ? counted(bits_, thresholds, size, cells)
                       : counted(linear_, thresholds, size, cells);
  }

  // out[i] becomes the bounds of scores[i]; a NaN gets those of some piece.
  void read(const RuleView& rule, const double* scores, std::size_t size, Pair* out) const {
    if (starts_.empty()) {
      const double* end = rule.thresholds + rule.size;
      for (std::size_t i = 0; i < size; ++i) {
        out[i] = rule.bounds[std::upper_bound(rule.thresholds, end, scores[i]) -
                             rule.thresholds];
      }
    } else if (by_bits_) {
      read_by(bits_, rule, scores, size, out);
    } else {
      read_by(linear_, rule, scores, size, out);
    }
  }

 private:
  static constexpr std::size_t kLargest = std::size_t{1} << 30;
  // Numbers of thresholds up to which an index with many cells stays in the near caches,
  // and beyond which loads must wait for slow memory.
  static constexpr std::size_t kSmall = 1 << 12;
  static constexpr std::size_t kCached = 1 << 15;

  // starts[c]: how many thresholds lie in cells before c.
  template <class Map>
  static Vector<std::uint32_t> counted(const Map& map, const double* thresholds,
                                       std::size_t size, std::size_t cells) {
    Vector<std::uint32_t> starts(cells + 1, 0);
    for (std::size_t j = 0; j < size; ++j) ++starts[map(thresholds[j]) + 1];
    for (std::size_t c = 0; c < cells; ++c) starts[c + 1] += starts[c];
    return starts;
  }

  // Expected length of the search in a cell, beyond the one comparison that is free.
  template <class Map>
  static double cost(const Map& map, const double* thresholds, std::size_t size,
                     const double* sample, std::size_t sample_size) {
    double total = 0;
    for (std::size_t i = 0; i < sample_size; ++i) {
      const std::uint32_t c = map(sample[i]);
      const auto first = std::partition_point(thresholds, thresholds + size,
                                              [&](double t) { return map(t) < c; });
      const auto last = std::partition_point(first, thresholds + size,
                                             [&](double t) { return map(t) == c; });
      if (last - first > 1) total += std::log2(static_cast<double>(last - first));
    }
    return total;
  }

  // The piece of a score whose cell is known.
  static std::size_t piece(const double* thresholds, const std::uint32_t* starts, double s,
                           std::size_t cell) {
    std::size_t j = starts[cell];
    std::size_t inside = starts[cell + 1] - j;
    while (inside > 1) {
      const std::size_t half = inside / 2;
      j += thresholds[j + half - 1] <= s ? half : 0;
      inside -= half;
    }
    // Without a branch: an empty cell adds nothing. The first cell is never empty (both maps
    // start at the first threshold), so nothing is read outside the array either.
    return j + (inside & static_cast<std::size_t>(thresholds[j + inside - 1] <= s));
  }

  // A block of scores at a time: first all cells, which is arithmetic without branches, then
  // all pieces.
  template <class Map>
  void read_by(const Map& map, const RuleView& rule, const double* scores, std::size_t size,
               Pair* out) const {
    std::uint32_t cells[kBlock];
    for (std::size_t from = 0; from < size; from += kBlock) {
      const std::size_t count = std::min(kBlock, size - from);
      for (std::size_t i = 0; i < count; ++i) cells[i] = map(scores[from + i]);
      if (rule.size < kCached) {
        read_near(rule, starts_.data(), scores + from, count, cells, out + from);
      } else {
        read_far(rule, starts_.data(), scores + from, count, cells, out + from);
      }
    }
  }

  static void read_near(const RuleView& rule, const std::uint32_t* starts,
                        const double* scores, std::size_t count, const std::uint32_t* cells,
                        Pair* out) {
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = rule.bounds[piece(rule.thresholds, starts, scores[i], cells[i])];
    }
  }

  // A large rule lies in slow memory. What a round needs is prefetched in the round before,
  // so that the waits overlap.
  static void read_far(const RuleView& rule, const std::uint32_t* starts,
                       const double* scores, std::size_t count, const std::uint32_t* cells,
                       Pair* out) {
    std::size_t pieces[kBlock];
    for (std::size_t i = 0; i < count; ++i) prefetch(starts + cells[i]);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t first = starts[cells[i]], end = starts[cells[i] + 1];
      prefetch(rule.thresholds + (first + end) / 2);
    }
    for (std::size_t i = 0; i < count; ++i) {
      pieces[i] = piece(rule.thresholds, starts, scores[i], cells[i]);
      prefetch(rule.bounds + pieces[i]);
    }
    for (std::size_t i = 0; i < count; ++i) out[i] = rule.bounds[pieces[i]];
  }

  static constexpr std::size_t kBlock = 64;

  Linear linear_{};
  Bits bits_{};
  bool by_bits_ = false;
  Vector<std::uint32_t> starts_;
};

struct Missing {
  std::size_t count = 0;
  std::size_t first = 0;  // a row, from 0; meaningful if count is not 0
};

// out[i] becomes the bounds of scores[i], NaN for NaN. NaN is looked for in batches, while
// their scores are still in the nearest cache.
inline Missing bounds(const RuleView& rule, const Index& index, const double* scores,
                      std::size_t size, Pair* out) {
  constexpr std::size_t kBatch = 1024;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Missing missing;
  for (std::size_t from = 0; from < size; from += kBatch) {
    const std::size_t to = std::min(from + kBatch, size);
    index.read(rule, scores + from, to - from, out + from);
    unsigned any = 0;  // not bool: compilers make vectors of this one
    for (std::size_t i = from; i < to; ++i) any |= scores[i] != scores[i];
    for (std::size_t i = from; any != 0 && i < to; ++i) {
      if (scores[i] == scores[i]) continue;
      if (missing.count++ == 0) missing.first = i;
      out[i] = {nan, nan};
    }
  }
  return missing;
}

// Let several threads do shares of the rows: work(from, to) finds what is missing in its
// share, counted from the share's first row. What it throws is thrown here. Shares for
// which the system has no thread are done by the caller.
constexpr std::size_t kMostThreads = 256;

template <class Work>
Missing shared_by_threads(std::size_t n_threads, std::size_t size,
                          std::size_t smallest_share, Work work) {
  n_threads = std::min({n_threads, size / smallest_share, kMostThreads});
  if (n_threads <= 1) return work(std::size_t{0}, size);
  std::vector<Missing> missing(n_threads);
  std::vector<std::exception_ptr> thrown(n_threads);
  const auto start_of = [&](std::size_t t) { return size * t / n_threads; };
  const auto share = [&](std::size_t t) noexcept {
    try {
      missing[t] = work(start_of(t), start_of(t + 1));
      missing[t].first += start_of(t);
    } catch (...) {
      thrown[t] = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  threads.reserve(n_threads);
  std::size_t started = 0;
  try {
    for (; started < n_threads; ++started) threads.emplace_back(share, started);
  } catch (const std::system_error&) {
  }
  for (std::size_t t = started; t < n_threads; ++t) share(t);
  for (std::thread& thread : threads) thread.join();
  for (const auto& exception : thrown) {
    if (exception) std::rethrow_exception(exception);
  }
  Missing all;
  for (const Missing& part : missing) {
    if (all.count == 0) all.first = part.first;
    all.count += part.count;
  }
  return all;
}

inline Missing bounds(const RuleView& rule, const Index& index, const double* scores,
                      std::size_t size, Pair* out, std::size_t n_threads) {
  constexpr std::size_t kSmallestShare = 1 << 15;  // a thread costs as much as some rows
  return shared_by_threads(
      n_threads, size, kSmallestShare, [&](std::size_t from, std::size_t to) {
        return bounds(rule, index, scores + from, to - from, out + from);
      });
}

}  // namespace abers
