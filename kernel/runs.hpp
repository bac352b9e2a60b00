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

#include "memory.hpp"

namespace abers {

struct Run {
  const double* scores;
  const std::int64_t* negatives;
  const std::int64_t* positives;
  std::size_t size;
};

struct MergedRun {
  Room<double> scores;
  Room<std::int64_t> negatives, positives;

  Run view() const {
    return {scores.data(), negatives.data(), positives.data(), scores.size()};
  }
  void resize(std::size_t size) {
    scores.resize(size);
    negatives.resize(size);
    positives.resize(size);
  }
};

// Two runs become one, in which counts at equal scores are added up. Both are read at each
// step and one or both advance: no branch on which is smaller, which nobody can foresee.
inline MergedRun merged(const Run& a, const Run& b) {
  MergedRun out;
  out.resize(a.size + b.size);
  std::size_t i = 0, j = 0, k = 0;
  for (; i < a.size && j < b.size; ++k) {
    const double x = a.scores[i], y = b.scores[j];
    const bool left = !(y < x), right = !(x < y);
    const std::int64_t from_a = -static_cast<std::int64_t>(left);  // all bits, or none
    const std::int64_t from_b = -static_cast<std::int64_t>(right);
    out.scores[k] = left ? x : y;
    out.negatives[k] = (a.negatives[i] & from_a) + (b.negatives[j] & from_b);
    out.positives[k] = (a.positives[i] & from_a) + (b.positives[j] & from_b);
    i += left;
    j += right;
  }
  const auto append = [&](const Run& rest, std::size_t from) {
    const std::size_t size = rest.size - from;
    std::copy_n(rest.scores + from, size, out.scores.data() + k);
    std::copy_n(rest.negatives + from, size, out.negatives.data() + k);
    std::copy_n(rest.positives + from, size, out.positives.data() + k);
    k += size;
  };
  append(a, i);
  append(b, j);
  out.resize(k);
  return out;
}

// Halves first, each in itself: what is merged last is then still in the cache. There must
// be two runs at least.
inline MergedRun merged(const Run* runs, std::size_t n_runs) {
  if (n_runs == 2) return merged(runs[0], runs[1]);
  const std::size_t half = n_runs / 2;
  const MergedRun second = merged(runs + half, n_runs - half);
  if (half == 1) return merged(runs[0], second.view());
  const MergedRun first = merged(runs, half);
  return merged(first.view(), second.view());
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
