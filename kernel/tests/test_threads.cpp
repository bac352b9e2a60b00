// Threads reading one rule: run under ThreadSanitizer.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "../lookup.hpp"

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
      missing[t] =
          abers::bounds(rule, index, scores.data(), kSize, outputs[t].data(), 3);
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (std::size_t t = 0; t < outputs.size(); ++t) {
    good = good && missing[t].count == expected.count &&
           missing[t].first == expected.first &&
           std::memcmp(outputs[t].data(), alone.data(), kSize * sizeof(abers::Pair)) == 0;
  }
  std::printf("threads: 4 callers of 3 threads each\n%d passed, %d failed\n", good, !good);
  return good ? 0 : 1;
}
