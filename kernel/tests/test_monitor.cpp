// Ranks against counting, and capital against its definition: run under the sanitizers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "../jumper.hpp"
#include "../ranks.hpp"

namespace {

using abers::Ranks;
constexpr double kInf = std::numeric_limits<double>::infinity();
long checks = 0, sequences = 0;
std::mt19937_64 engine{20151116};

void require(bool holds, const char* claim) {
  ++checks;
  if (holds) return;
  std::printf("FAILED: %s (sequence %ld)\n", claim, sequences);
  std::exit(1);
}

std::size_t below(std::size_t n) { return engine() % n; }

double drawn(std::size_t range) {
  static const double odd[] = {-kInf, kInf, 0.0, 5e-324, -5e-324, 1e308};
  return below(8) == 0 ? odd[below(6)] : static_cast<double>(below(range)) - 3;
}

void compare(const Ranks& ranks, const std::vector<double>& kept, double score) {
  const auto [under, equal] = ranks.rank(score);
  std::uint64_t n_under = 0, n_equal = 0;
  for (const double one : kept) {
    n_under += one < score;
    n_equal += one == score;
  }
  require(under == n_under && equal == n_equal, "a rank");
  require(ranks.size() == kept.size(), "the number of scores");
}

void one_sequence(std::size_t length) {
  ++sequences;
  const std::size_t range = 1 + below(2 * length), block_size = 1 + below(5);
  std::vector<double> kept, added, distinct;
  std::vector<std::int64_t> counts;
  for (std::size_t i = below(20); i > 0; --i) kept.push_back(drawn(range));
  std::sort(kept.begin(), kept.end());
  for (const double score : kept) {
    if (distinct.empty() || distinct.back() != score) {
      distinct.push_back(score);
      counts.push_back(0);
    }
    ++counts.back();
  }
  Ranks ranks(distinct.data(), counts.data(), distinct.size(), block_size);
  for (std::size_t step = 0; step < length; ++step) {
    compare(ranks, kept, drawn(range));
    const double score = drawn(range);
    ranks.add(score);
    kept.push_back(score);
    added.push_back(score);
    compare(ranks, kept, score);
  }
  std::sort(added.begin(), added.end());
  std::size_t i = 0;
  ranks.for_each([&](double score) { require(score == added[i++], "the order"); });
  require(i == added.size(), "all added scores are visited");
}

// By the paths of jumps: the capital is the mean over all of them of the product of factors.
void one_capital() {
  ++sequences;
  const std::size_t n_bets = 3, rounds = 1 + below(4);
  const double rate = static_cast<double>(below(5)) / 4;
  std::vector<double> factors(rounds * n_bets), weights(n_bets, 1.0 / 3), found(rounds);
  for (double& factor : factors) factor = static_cast<double>(below(9)) / 4;
  std::vector<double> expected = weights;
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<double> next(n_bets, 0.0);
    for (std::size_t from = 0; from < n_bets; ++from)
      for (std::size_t to = 0; to < n_bets; ++to)
        next[to] += expected[from] * (rate / 3 + (from == to ? 1 - rate : 0)) *
                    factors[round * n_bets + to];
    expected = next;
  }
  abers::jump(&rate, 1, n_bets, factors.data(), rounds, weights.data(), 0.0, found.data());
  double total = 0;
  for (const double one : expected) total += one;
  require(std::abs(std::exp(found.back()) - total) <= 1e-12 * total, "the capital");
}

// A capital far beyond a double, in pieces of any length.
void one_fortune() {
  ++sequences;
  const double rates[] = {0.0, 0.01};
  const std::size_t rounds = 3000;
  std::vector<double> factors(2 * rounds), whole(rounds), parts(rounds);
  for (std::size_t i = 0; i < rounds; ++i) factors[2 * i] = 1, factors[2 * i + 1] = 1.9;
  std::vector<double> weights(4, 0.25), again = weights;
  abers::jump(rates, 2, 2, factors.data(), rounds, weights.data(), 0.0, whole.data());
  double scale = 0;
  for (std::size_t i = 0; i < rounds;) {
    const std::size_t n = std::min(rounds - i, 1 + below(100));
    scale = abers::jump(rates, 2, 2, &factors[2 * i], n, again.data(), scale, &parts[i]);
    i += n;
  }
  require(whole == parts && weights == again, "pieces of a stream");
  require(std::abs(whole.back() - (std::log(0.25) + 3000 * std::log(1.9))) < 1e-6,
          "a fortune");
}

}  // namespace

int main() {
  while (sequences < 20000) one_sequence(sequences % 100 == 0 ? 200 : 2 + below(30));
  while (sequences < 30000) one_capital();
  while (sequences < 30020) one_fortune();
  std::printf("monitor: %ld sequences, %ld checks, all hold\n", sequences, checks);
  return 0;
}
