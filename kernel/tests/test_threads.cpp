// Threads reading one rule, plain, pooled and of a partial order: run under ThreadSanitizer.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "../lookup.hpp"
#include "../pooled.hpp"
#include "../poset.hpp"

namespace {

// Two folds, rows of two scores: three threads give what one gives.
bool pooled_agrees() {
  constexpr std::size_t kSize = 1 << 13;
  std::vector<double> keys, rows(2 * kSize);
  std::vector<std::int64_t> zeros, ones;
  for (int j = 0; j < 3000; ++j) {
    keys.push_back(j * 0.001);
    zeros.push_back(1 + j % 7);
    ones.push_back(j % 11);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = std::sin(static_cast<double>(i)) * 2 + 1.5;
  }
  const abers::FoldCounts fold{keys.data(), zeros.data(), ones.data(), keys.size()};
  const abers::Pooled rule({fold, fold}, 1, 1, abers::Direction::increasing);
  std::vector<abers::Pair> alone(kSize), shared(kSize);
  rule.bounds(rows.data(), kSize, alone.data(), 1);
  rule.bounds(rows.data(), kSize, shared.data(), 3);
  return std::memcmp(alone.data(), shared.data(), kSize * sizeof(abers::Pair)) == 0;
}

// Points of two or three columns: each thread has its own memory.
bool poset_agrees(std::size_t columns) {
  constexpr std::size_t kSize = 200;
  std::vector<double> points, rows;
  std::vector<std::int64_t> zeros, ones;
  for (std::size_t i = 0; i < kSize; ++i) {
    for (std::size_t c = 0; c < columns; ++c) {
      const double x = static_cast<double>(i);
      points.push_back(c == 0 ? x : std::sin(x * static_cast<double>(c)) * 40 + x / 2);
      rows.push_back(std::cos(x + static_cast<double>(c)) * 100 + 100);
    }
    ones.push_back(std::sin(static_cast<double>(7 * i)) * 100 + 100 < i ? 1 : 0);
    zeros.push_back(1 - ones.back());
  }
  const abers::Poset rule({points.data(), zeros.data(), ones.data(), kSize, columns},
                          false);
  std::vector<abers::Pair> alone(kSize), shared(kSize);
  rule.bounds(rows.data(), kSize, alone.data(), 1);
  rule.bounds(rows.data(), kSize, shared.data(), 3);
  return std::memcmp(alone.data(), shared.data(), kSize * sizeof(abers::Pair)) == 0;
}

}  // namespace

int main() {
  constexpr std::size_t kSize = 1 << 18;
  std::vector<double> thresholds, scores(kSize);
  std::vector<abers::Pair> values;
  for (int j = 0; j < 5000; ++j) thresholds.push_back(j * 0.001);
  for (int j = 0; j <= 5000; ++j) values.push_back({j / 6000.0, j / 5000.0});
  for (std::size_t i = 0; i < kSize; ++i) {
    scores[i] = i % 1000 == 7 ? std::nan("") : std::sin(static_cast<double>(i)) * 3 + 2.5;
  }
  const abers::RuleView rule{thresholds.data(), thresholds.size(), values.data()};
  const abers::Index index(thresholds.data(), thresholds.size(), scores.data(), 7);

  std::vector<abers::Pair> alone(kSize);
  const abers::Missing expected =
      abers::bounds(rule, index, scores.data(), kSize, alone.data());
  bool good = expected.count == (kSize + 992) / 1000 && expected.first == 7;

  // Four callers at once, each of which splits its work among three threads.
  std::vector<std::vector<abers::Pair>> outputs(4, std::vector<abers::Pair>(kSize));
  std::vector<abers::Missing> missing(outputs.size());
  std::vector<std::thread> callers;
  for (std::size_t t = 0; t < outputs.size(); ++t) {
    callers.emplace_back([&, t] {
      missing[t] = abers::bounds(rule, index, scores.data(), kSize, outputs[t].data(), 3);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (std::size_t t = 0; t < outputs.size(); ++t) {
    good = good && missing[t].count == expected.count &&
           missing[t].first == expected.first &&
           std::memcmp(outputs[t].data(), alone.data(), kSize * sizeof(abers::Pair)) == 0;
  }
  good = good && pooled_agrees();
  good = good && poset_agrees(2) && poset_agrees(3);
  std::printf("threads: 4 callers of 3 threads each\n%d passed, %d failed\n", good, !good);
  return good ? 0 : 1;
}
