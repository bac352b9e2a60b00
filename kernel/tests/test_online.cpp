// Observations that come and go, against enumeration after every step: run under the sanitizers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "../online.hpp"

namespace {

using abers::OnlineTree;
using Mass = OnlineTree::Mass;
using Kept = std::map<double, Mass>;
constexpr double kInf = std::numeric_limits<double>::infinity();
long checks = 0, sequences = 0;

void require(bool holds, const char* claim) {
  ++checks;
  if (holds) return;
  std::printf("FAILED: %s (sequence %ld)\n", claim, sequences);
  std::exit(1);
}

struct Random {
  std::mt19937_64 engine{20151116};
  std::size_t below(std::size_t n) { return engine() % n; }
};

bool same_slope(Mass a, Mass b) { return !abers::steeper(a, b) && !abers::steeper(b, a); }

// The definition: the greatest over lower ends of the least over upper ends of the mean.
Mass enumerated(const Kept& kept, double score, Mass label) {
  std::vector<Mass> low{{0, 0}}, high;
  Mass sum{0, 0};
  for (const auto& [key, mass] : kept) {
    if (key > score && high.empty()) high.push_back(sum);
    sum = sum + mass;
    if (key < score) low.push_back(sum);
    if (key > score) high.push_back(sum);
  }
  if (high.empty()) high.push_back(sum);
  Mass greatest{1, 0};
  bool any = false;
  for (const Mass from : low) {
    Mass least{0, 1};
    for (const Mass to : high) {
      const Mass mean = to - from + label;
      if (abers::steeper(least, mean)) least = mean;
    }
    if (!any || abers::steeper(least, greatest)) greatest = least;
    any = true;
  }
  return greatest;
}

void compare(const OnlineTree& tree, const Kept& kept, double score) {
  const auto [zero, one] = tree.bounds(score);
  require(same_slope(zero, enumerated(kept, score, {1, 0})), "the lower bound");
  require(same_slope(one, enumerated(kept, score, {0, 1})), "the upper bound");
}

void compare_keys(const OnlineTree& tree, const Kept& kept) {
  auto key = kept.begin();
  Mass total{0, 0};
  tree.for_each([&](double score, Mass mass) {
    require(key != kept.end() && key->first == score && key->second.n == mass.n &&
                key->second.y == mass.y,
            "a key");
    total = total + mass;
    ++key;
  });
  require(key == kept.end() && tree.size() == kept.size(), "the number of keys");
  require(tree.total().n == total.n && tree.total().y == total.y, "the total");
}

double drawn(Random& random, bool odd, std::size_t range) {
  static const double odds[] = {-kInf,  -1e308, -1, -5e-324, 0,
                                5e-324, 1e-17,  1,  1e308,   kInf};
  return odd ? odds[random.below(10)] : static_cast<double>(random.below(range));
}

// Grow, change and shrink to nothing, with every leaf size and with either search.
void one_sequence(Random& random, std::size_t length) {
  ++sequences;
  static const std::size_t sizes[] = {1, 1, 2, 3, 5, 8, 128};
  OnlineTree tree(sizes[random.below(7)], random.below(3) == 0 ? 0 : abers::kNewtonSteps);
  Kept kept;
  const bool odd = random.below(4) == 0, sorted = random.below(6) == 0;
  const std::size_t range = 1 + random.below(2 * length), ones_in_ten = random.below(11);
  const std::size_t heaviest = random.below(3) == 0 ? 1 + random.below(1000000) : 1;
  std::vector<std::pair<double, Mass>> alive;
  double next = 0;
  for (std::size_t step = 0; step < 2 * length; ++step) {
    const bool growing = step < length;
    const bool adds = alive.empty() ? growing : random.below(4) < (growing ? 3u : 0u);
    if (adds) {
      const double score = sorted ? (next += random.below(2)) : drawn(random, odd, range);
      const std::uint64_t weight = 1 + random.below(heaviest);
      const Mass mass = random.below(10) < ones_in_ten ? Mass{0, weight} : Mass{weight, 0};
      tree.add(score, mass);
      kept[score] = (kept.count(score) ? kept[score] : Mass{0, 0}) + mass;
      alive.push_back({score, mass});
    } else if (!alive.empty()) {
      std::swap(alive[random.below(alive.size())], alive.back());
      const auto [score, mass] = alive.back();
      alive.pop_back();
      require(tree.remove(score, mass), "what is there can be removed");
      Mass& left = kept[score];
      left = left - mass;
      if (left.n + left.y == 0) kept.erase(score);
    }
    const double asked = drawn(random, odd, range);
    compare(tree, kept, asked);
    compare(tree, kept, asked + 0.5);
    const Mass there = tree.at(asked);
    require(!tree.remove(asked, {there.n + 1, there.y}), "what is not there cannot");
  }
  compare_keys(tree, kept);
  std::vector<OnlineTree::Key> keys;
  for (const auto& [score, mass] : kept) keys.push_back({score, mass});
  const OnlineTree again(keys, 1 + random.below(4));
  compare_keys(again, kept);
  compare(again, kept, drawn(random, odd, range));
}

}  // namespace

int main(int count, char** arguments) {
  const long wanted = count > 1 ? std::atol(arguments[1]) : 100000;
  Random random;
  while (sequences < wanted)
    one_sequence(random, sequences % 50 == 0 ? 120 : 2 + random.below(16));
  std::printf("online: %ld sequences, %ld checks, all hold\n", sequences, checks);
  return 0;
}
