// The pooled rule against enumeration, and against the star on sums: run under the sanitizers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "../pooled.hpp"
#include "naive.hpp"
#include "star.hpp"

namespace {

using naive::Mass;
using Folds = std::vector<std::vector<Mass>>;
constexpr double kInf = std::numeric_limits<double>::infinity();
long checks = 0, inputs = 0;

void require(bool holds, const char* claim) {
  ++checks;
  if (holds) return;
  std::printf("FAILED: %s (input %ld)\n", claim, inputs);
  std::exit(1);
}

struct Random {
  std::mt19937_64 engine{20151116};
  std::size_t below(std::size_t n) { return engine() % n; }
};

// The arrays that the kernel reads.
struct Arrays {
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<std::int64_t>> zeros, ones;
  std::vector<abers::FoldCounts> views;

  explicit Arrays(const Folds& folds)
      : scores(folds.size()), zeros(folds.size()), ones(folds.size()) {
    for (std::size_t k = 0; k < folds.size(); ++k) {
      for (const Mass& mass : folds[k]) {
        scores[k].push_back(mass.score);
        zeros[k].push_back(mass.zeros);
        ones[k].push_back(mass.ones);
      }
      views.push_back({scores[k].data(), zeros[k].data(), ones[k].data(), folds[k].size()});
    }
  }
};

// Folds with ties, everything that a double can be, heavy keys, or no rows at all.
Folds draw(Random& random, std::size_t most_folds, std::size_t most_keys,
           std::int64_t heaviest) {
  static const double odd[] = {-kInf,  -1e308, -1, -5e-324, 0,
                               5e-324, 1e-17,  1,  1e308,   kInf};
  Folds folds(1 + random.below(most_folds));
  const bool use_odd = random.below(3) == 0;
  for (auto& fold : folds) {
    const std::size_t size = random.below(most_keys + 1);
    const std::size_t ones_in_ten = random.below(11);
    for (std::size_t i = 0; i < size; ++i) {
      const double s =
          use_odd ? odd[random.below(10)] : static_cast<double>(random.below(2 * size));
      const auto weight = static_cast<std::int64_t>(1 + random.below(heaviest));
      const bool one = random.below(10) < ones_in_ten;
      const auto at = std::find_if(fold.begin(), fold.end(),
                                   [s](const Mass& mass) { return mass.score == s; });
      if (at == fold.end()) {
        fold.push_back({s, one ? 0 : weight, one ? weight : 0});
      } else {
        (one ? at->ones : at->zeros) += weight;
      }
    }
    std::sort(fold.begin(), fold.end(),
              [](const Mass& a, const Mass& b) { return a.score < b.score; });
  }
  return folds;
}

double place_in(Random& random, const std::vector<Mass>& fold) {
  if (fold.empty() || random.below(10) == 0) {
    return random.below(2) == 0 ? -kInf : kInf;
  }
  const double s = fold[random.below(fold.size())].score;
  const std::size_t where = random.below(3);
  return where == 0 ? s : std::nextafter(s, where == 1 ? kInf : -kInf);
}

std::vector<double> draw_row(Random& random, const Folds& folds) {
  std::vector<double> row;
  for (const auto& fold : folds) row.push_back(place_in(random, fold));
  return row;
}

template <class Rule>
abers::Pair read(const Rule& rule, const std::vector<double>& row, int newton_steps) {
  abers::Pair out;
  const abers::Missing missing = rule.bounds(row.data(), 1, &out, 1, newton_steps);
  require(missing.count == 0, "numbers are not missing");
  return out;
}

constexpr std::pair<std::int64_t, std::int64_t> kWeights[] = {
    {1, 1}, {3, 1}, {1, 2}, {2, 3}};

void check_enumeration(Random& random) {
  ++inputs;
  const Folds folds = draw(random, 3, 4, random.below(2) == 0 ? 1 : 5);
  const auto [p, q] = kWeights[random.below(4)];
  const Arrays arrays(folds);
  const abers::Pooled rule(arrays.views, q, p, abers::Direction::increasing);
  for (int i = 0; i < 4; ++i) {
    const auto row = draw_row(random, folds);
    const double lower = naive::pooled(folds, row, 0, p, q);
    const double upper = naive::pooled(folds, row, 1, p, q);
    require(read(rule, row, 24) == abers::Pair{lower, upper},
            "Newton finds the definition");
    require(read(rule, row, 0) == abers::Pair{lower, upper},
            "the tree search finds it, too");
  }
}

// The falling rule is that of mirrored scores.
void check_decreasing(Random& random) {
  ++inputs;
  const Folds folds = draw(random, 3, 8, 3);
  Folds mirrored = folds, exchanged = folds;
  for (auto& fold : mirrored) {
    for (Mass& mass : fold) mass.score = -mass.score;
    std::reverse(fold.begin(), fold.end());
  }
  for (auto& fold : exchanged) {
    for (Mass& mass : fold) std::swap(mass.zeros, mass.ones);
  }
  const Arrays rising(mirrored), falling(exchanged);
  const abers::Pooled up(rising.views, 1, 1, abers::Direction::increasing);
  const abers::Pooled down(falling.views, 1, 1, abers::Direction::decreasing);
  auto row = draw_row(random, folds);
  const abers::Pair pair = read(down, row, 24);
  for (double& s : row) s = -s;
  require(pair == read(up, row, 24), "falling");
}

abers::Pair by_sums(const Arrays& arrays, const std::vector<double>& row, std::uint64_t p,
                    std::uint64_t q) {
  std::vector<abers::StarFold> chains;
  for (const auto& view : arrays.views) {
    chains.emplace_back(view.scores, view.zeros, view.ones, view.size);
  }
  const auto [zero, one] = abers::Star(std::move(chains), q, p).bounds(row.data());
  return abers::pair_of(zero, one, abers::Direction::increasing);
}

// Folds of some hundred keys; `heaviest` beyond 2^32 takes 128-bit products. The new case
// weighs 2^postulate_bits times as much.
void check_against_sums(Random& random, std::int64_t heaviest, int postulate_bits = 0) {
  ++inputs;
  const Folds folds = draw(random, 6, 60, heaviest);
  const auto [numerator, q] = kWeights[random.below(4)];
  const std::int64_t p = numerator << postulate_bits;
  const Arrays arrays(folds);
  const abers::Pooled rule(arrays.views, q, p, abers::Direction::increasing);
  for (int i = 0; i < 3; ++i) {
    const auto row = draw_row(random, folds);
    const abers::Pair expected =
        by_sums(arrays, row, static_cast<std::uint64_t>(p), static_cast<std::uint64_t>(q));
    require(read(rule, row, 24) == expected, "the star on sums agrees");
    require(read(rule, row, 0) == expected, "so does the tree search");
    require(read(rule, row, 1) == expected, "and the search after one step");
  }
}

// A convex chain above one long edge, either from many ones before it or to many zeros after
// it: the local chains, to the right or to the left, are as long as the fold, so there must
// be jumps. A `base` of 2^38 makes all slopes of the chain one float.
Folds adversary(Random& random, std::size_t n_folds, std::int64_t size, std::int64_t base) {
  Folds folds(n_folds);
  for (auto& fold : folds) {
    const std::int64_t shift = static_cast<std::int64_t>(random.below(5));
    std::int64_t all_zeros = 0, all_ones = 0;
    for (std::int64_t i = 0; i < size; ++i) {
      fold.push_back({static_cast<double>(i), base + size - i + shift, base + i + 1});
      all_zeros += fold.back().zeros;
      all_ones += fold.back().ones;
    }
    if (random.below(2) == 0) {
      fold.push_back({static_cast<double>(size), 8 * all_zeros, 0});
    } else {
      fold.insert(fold.begin(), {-1.0, 0, 8 * all_ones});
    }
  }
  return folds;
}

void check_adversary(Random& random, std::int64_t base) {
  ++inputs;
  const Folds folds = adversary(random, 1 + random.below(3), 80 + random.below(120), base);
  const Arrays arrays(folds);
  const abers::Pooled rule(arrays.views, 1, 1, abers::Direction::increasing);
  std::size_t keys = 0;
  for (const auto& fold : folds) keys += fold.size();
  require(rule.bytes() >= 56 * keys, "jumps are there");
  for (int i = 0; i < 10; ++i) {
    const auto row = draw_row(random, folds);
    const abers::Pair expected = by_sums(arrays, row, 1, 1);
    require(read(rule, row, 24) == expected, "jumps agree with sums");
    require(read(rule, row, 0) == expected, "jumps in the tree search");
  }
}

// Many rows at once, bucketed, in blocks and by threads, are the rows one by one.
void check_batches(Random& random) {
  ++inputs;
  Folds folds(2);
  for (auto& fold : folds) {
    for (int i = 0; i < 40000; ++i) {
      const bool one = random.below(40000) < static_cast<std::size_t>(i);
      fold.push_back({std::exp(i / 4000.0), one ? 0 : 1, one ? 1 : 0});
    }
  }
  folds.insert(folds.begin() + 1, std::vector<Mass>{});
  const Arrays arrays(folds);
  const abers::Pooled rule(arrays.views, 1, 1, abers::Direction::increasing);
  std::vector<double> rows;
  const std::size_t size = 5000;
  for (std::size_t i = 0; i < size; ++i) {
    for (double s : draw_row(random, folds)) rows.push_back(s);
  }
  rows[7 * 3 + 1] = rows[4321 * 3] = std::nan("");
  std::vector<abers::Pair> all(size), shared(size);
  const auto missing = rule.bounds(rows.data(), size, all.data(), 1);
  require(missing.count == 2 && missing.first == 7, "NaN is counted");
  require(rule.bounds(rows.data(), size, shared.data(), 3).first == 7, "by threads, too");
  for (std::size_t i = 0; i < size; ++i) {
    if (i == 7 || i == 4321) {
      require(std::isnan(all[i].lower) && std::isnan(all[i].upper), "NaN in, NaN out");
      continue;
    }
    abers::Pair alone;
    rule.bounds(rows.data() + 3 * i, 1, &alone, 1);
    require(alone == all[i] && alone == shared[i], "rows do not depend on each other");
  }
}

}  // namespace

int main() {
  Random random;
  for (int i = 0; i < 100000; ++i) check_enumeration(random);
  for (int i = 0; i < 10000; ++i) check_decreasing(random);
  for (int i = 0; i < 10000; ++i) check_against_sums(random, 1);
  for (int i = 0; i < 10000; ++i) check_against_sums(random, 1000);
  for (int i = 0; i < 10000; ++i) check_against_sums(random, std::int64_t{1} << 42);
  for (int i = 0; i < 10000; ++i) check_against_sums(random, 1000, i % 41);
  for (int i = 0; i < 10000; ++i) {
    check_against_sums(random, std::int64_t{1} << 42, i % 41);
  }
  for (int i = 0; i < 200; ++i) check_adversary(random, 0);
  for (int i = 0; i < 200; ++i) check_adversary(random, std::int64_t{1} << 38);
  for (int i = 0; i < 2; ++i) check_batches(random);
  std::printf("pooled: %ld random inputs, %ld checks\n1 passed, 0 failed\n", inputs,
              checks);
}
