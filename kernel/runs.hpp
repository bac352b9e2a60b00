// Sorted runs of counts: merged to one, and recognised by their content.
//
// Input:   distinct ascending scores with the number of observations of either label.
// Memory:  the caller owns the runs; what is merged owns its arrays.
// Failure: std::bad_alloc.
// Cost:    merging is linear for each doubling of the number of runs; hashing is linear.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "diagram.hpp"
#include "memory.hpp"

namespace abers {

struct Run {
  const double* scores;
  const std::int64_t* negatives;
  const std::int64_t* positives;
  std::size_t size;
};

// Where a run is written.
struct RunOutput {
  double* scores;
  std::int64_t* negatives;
  std::int64_t* positives;

  RunOutput from(std::size_t place) const {
    return {scores + place, negatives + place, positives + place};
  }
};

struct MergedRun {
  Room<double> scores;
  Room<std::int64_t> negatives, positives;

  explicit MergedRun(std::size_t size = 0)
      : scores(size), negatives(size), positives(size) {}

  Run view() const {
    return {scores.data(), negatives.data(), positives.data(), scores.size()};
  }
  RunOutput output() { return {scores.data(), negatives.data(), positives.data()}; }
  void shrink(std::size_t size) {
    scores.resize(size);
    negatives.resize(size);
    positives.resize(size);
  }
  void give_back() {  // room that is not needed
    scores.shrink_to_fit();
    negatives.shrink_to_fit();
    positives.shrink_to_fit();
  }
};

inline void copy_run(const Run& from, RunOutput to) {
  std::copy_n(from.scores, from.size, to.scores);
  std::copy_n(from.negatives, from.size, to.negatives);
  std::copy_n(from.positives, from.size, to.positives);
}

inline Run tail(const Run& run, std::size_t from) {
  return {run.scores + from, run.negatives + from, run.positives + from, run.size - from};
}

// Two runs become one, in which counts at equal scores are added up. Both are read at each
// step and one or both advance: no branch on which is smaller, which nobody can foresee.
inline Run merged(const Run a, const Run b, const RunOutput out) {
  std::size_t i = 0, j = 0, k = 0;
  for (; i < a.size && j < b.size; ++k) {
    const double x = a.scores[i], y = b.scores[j];
    const bool left = !(y < x), right = !(x < y);
    const std::int64_t from_a = -static_cast<std::int64_t>(left);  // all bits, or none
    const std::int64_t from_b = -static_cast<std::int64_t>(right);
    out.scores[k] = x < y ? x : y;  // one instruction, where `left ? x : y` is a branch
    out.negatives[k] = (a.negatives[i] & from_a) + (b.negatives[j] & from_b);
    out.positives[k] = (a.positives[i] & from_a) + (b.positives[j] & from_b);
    i += left;
    j += right;
  }
  copy_run(tail(a, i), out.from(k));
  k += a.size - i;
  copy_run(tail(b, j), out.from(k));
  k += b.size - j;
  return {out.scores, out.negatives, out.positives, k};
}

inline std::size_t total_size(const Run* runs, std::size_t n_runs) {
  std::size_t size = 0;
  for (std::size_t k = 0; k < n_runs; ++k) size += runs[k].size;
  return size;
}

// Halves first, each in itself, while it is in the cache. They are written to the spare
// room, whose halves are then merged to the output; one run stays where it is.
inline Run merged(const Run* runs, std::size_t n_runs, RunOutput out, RunOutput spare) {
  if (n_runs == 1) return runs[0];
  if (n_runs == 2) return merged(runs[0], runs[1], out);
  const std::size_t half = n_runs / 2, middle = total_size(runs, half);
  const Run first = merged(runs, half, spare, out);
  const Run second =
      merged(runs + half, n_runs - half, spare.from(middle), out.from(middle));
  return merged(first, second, out);
}

// There must be two runs at least.
inline MergedRun merged(const Run* runs, std::size_t n_runs) {
  const std::size_t size = total_size(runs, n_runs);
  MergedRun out(size), spare(n_runs > 2 ? size : 0);  // two runs need none
  out.shrink(merged(runs, n_runs, out.output(), spare.output()).size);
  return out;
}

// The run of two sorted classes: what for_each_distinct visits, faster where most scores
// differ, because which class comes next is no branch. A run of ties costs its logarithm.
inline MergedRun counted(const Classes& classes) {
  MergedRun out(classes.total());
  const RunOutput to = out.output();
  const double *zeros = classes.zeros, *ones = classes.ones;
  std::size_t n = 0, y = 0, k = 0;
  const auto is_next = [](const double* sorted, std::size_t i, std::size_t size, double s) {
    return i < size && sorted[i] == s;
  };
  for (; n < classes.n_zeros && y < classes.n_ones; ++k) {
    const double zero = zeros[n], one = ones[y];
    const bool has_zero = !(one < zero), has_one = !(zero < one);
    const double s = zero < one ? zero : one;
    std::size_t next_n = n + has_zero, next_y = y + has_one;
    if (is_next(zeros, next_n, classes.n_zeros, s)) {
      next_n = run_end(zeros, next_n, classes.n_zeros, s);
    }
    if (is_next(ones, next_y, classes.n_ones, s)) {
      next_y = run_end(ones, next_y, classes.n_ones, s);
    }
    to.scores[k] = s;
    to.negatives[k] = static_cast<std::int64_t>(next_n - n);
    to.positives[k] = static_cast<std::int64_t>(next_y - y);
    n = next_n;
    y = next_y;
  }
  const Classes rest{zeros + n, classes.n_zeros - n, ones + y, classes.n_ones - y};
  for_each_distinct(rest, [&](double s, std::size_t n_zeros, std::size_t n_ones) {
    to.scores[k] = s;
    to.negatives[k] = static_cast<std::int64_t>(n_zeros);
    to.positives[k] = static_cast<std::int64_t>(n_ones);
    ++k;
  });
  out.shrink(k);
  if (2 * k < classes.total()) out.give_back();
  return out;
}

// The end of splitmix64: scatters numbers evenly, each to one place.
inline std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

struct Content {
  std::int64_t negatives = 0, positives = 0;
  std::uint64_t hash = 0;  // the sum over all observations, modulo 2^64
};

// Adding 0.0 makes both kinds of zero one. The salts belong to labels 0 and 1.
inline Content content(const Run& run, std::uint64_t salt_zero, std::uint64_t salt_one) {
  Content found;
  for (std::size_t i = 0; i < run.size; ++i) {
    const double score = run.scores[i] + 0.0;
    std::uint64_t bits;
    std::memcpy(&bits, &score, sizeof bits);
    found.negatives += run.negatives[i];
    found.positives += run.positives[i];
    found.hash += mixed(bits + salt_zero) * static_cast<std::uint64_t>(run.negatives[i]) +
                  mixed(bits + salt_one) * static_cast<std::uint64_t>(run.positives[i]);
  }
  return found;
}

}  // namespace abers
