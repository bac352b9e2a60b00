// Partially ordered scores against enumeration of all upper and lower sets, the sweep against
// the flow, slices against all points: run under the sanitizers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "../poset.hpp"
#include "naive.hpp"

namespace {

using naive::Vector;
using Row = std::vector<double>;
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

// The arrays that the kernel reads: sorted, and equal ones pooled.
struct Arrays {
  std::size_t columns;
  std::vector<double> points;
  std::vector<std::int64_t> zeros, ones;

  explicit Arrays(std::vector<Vector> data) : columns(data[0].scores.size()) {
    std::sort(data.begin(), data.end(),
              [](const Vector& a, const Vector& b) { return a.scores < b.scores; });
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (i > 0 && data[i].scores == data[i - 1].scores) {
        zeros.back() += data[i].zeros;
        ones.back() += data[i].ones;
        continue;
      }
      points.insert(points.end(), data[i].scores.begin(), data[i].scores.end());
      zeros.push_back(data[i].zeros);
      ones.push_back(data[i].ones);
    }
  }

  abers::Poset fitted(bool by_flow) const {
    return {{points.data(), zeros.data(), ones.data(), zeros.size(), columns}, by_flow};
  }
};

abers::Pair read(const abers::Poset& rule, const Row& row, bool from_all) {
  abers::Pair out;
  const abers::Missing missing = rule.bounds(row.data(), 1, &out, 1, from_all);
  require(missing.count == 0, "numbers are not missing");
  return out;
}

// Each of the four ways gives the definition.
void check(const std::vector<Vector>& data, const std::vector<Row>& rows) {
  ++inputs;
  const Arrays arrays(data);
  const abers::Poset rule = arrays.fitted(false), flow = arrays.fitted(true);
  for (const Row& row : rows) {
    const abers::Pair expected{naive::partial(data, row, 0), naive::partial(data, row, 1)};
    require(read(rule, row, false) == expected, "slices find the definition");
    require(read(rule, row, true) == expected, "splitting all finds the definition");
    require(read(flow, row, false) == expected, "flows find the definition");
    require(read(flow, row, true) == expected, "flows on all find the definition");
  }
}

std::vector<Vector> labelled(const std::vector<Row>& points, std::uint32_t labels) {
  std::vector<Vector> data;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::int64_t one = labels >> i & 1;
    data.push_back({points[i], 1 - one, one});
  }
  return data;
}

// Every order of n points and a row in the plane is that of some permutation: ascending x, and
// any order of y. All of them, with every label of the points and each in turn as the row.
void check_all_orders(std::size_t n) {
  std::vector<double> heights(n + 1);
  std::iota(heights.begin(), heights.end(), 0.0);
  do {
    for (std::size_t test = 0; test <= n; ++test) {
      std::vector<Row> points;
      for (std::size_t i = 0; i <= n; ++i) {
        if (i != test) points.push_back({static_cast<double>(i), heights[i]});
      }
      const Row row{static_cast<double>(test), heights[test]};
      for (std::uint32_t labels = 0; labels < 1u << n; ++labels) {
        check(labelled(points, labels), {row});
      }
    }
  } while (std::next_permutation(heights.begin(), heights.end()));
}

// All multisets of four points of a grid of nine, with every label, and all nine as rows: ties in
// either coordinate, and equal points.
void check_all_ties() {
  std::vector<Row> grid;
  for (int x = 0; x < 3; ++x) {
    for (int y = 0; y < 3; ++y) grid.push_back({static_cast<double>(x), y - 1.0});
  }
  for (std::size_t a = 0; a < 9; ++a) {
    for (std::size_t b = a; b < 9; ++b) {
      for (std::size_t c = b; c < 9; ++c) {
        for (std::size_t d = c; d < 9; ++d) {
          for (std::uint32_t labels = 0; labels < 16; ++labels) {
            check(labelled({grid[a], grid[b], grid[c], grid[d]}, labels), grid);
          }
        }
      }
    }
  }
}

double coordinate(Random& random, std::size_t kind) {
  static const double odd[] = {-kInf, -1e308, -1, -5e-324, 0, 5e-324, 1, 1e308, kInf};
  if (kind == 0) return odd[random.below(9)];
  return static_cast<double>(random.below(kind == 1 ? 3 : 1000));
}

std::vector<Vector> draw(Random& random, std::size_t most, std::size_t columns,
                         std::size_t kind, std::size_t heaviest) {
  std::vector<Vector> data(1 + random.below(most));
  const std::size_t ones_in_ten = random.below(11);
  for (Vector& vector : data) {
    for (std::size_t c = 0; c < columns; ++c) {
      vector.scores.push_back(coordinate(random, kind));
    }
    const auto weight = static_cast<std::int64_t>(1 + random.below(heaviest));
    const bool one = random.below(10) < ones_in_ten;
    vector.zeros = one ? 0 : weight;
    vector.ones = one ? weight : 0;
  }
  return data;
}

Row draw_row(Random& random, const std::vector<Vector>& data, std::size_t kind) {
  Row row;
  for (std::size_t c = 0; c < data[0].scores.size(); ++c) {
    const bool is_new = random.below(2) == 0;
    row.push_back(is_new ? coordinate(random, kind)
                         : data[random.below(data.size())].scores[c]);
  }
  return random.below(4) == 0 ? data[random.below(data.size())].scores : row;
}

// Up to eight points of two or three columns, sometimes one or four.
void check_enumeration(Random& random) {
  const std::size_t columns =
      random.below(8) == 0 ? 1 + 3 * random.below(2) : 2 + random.below(2);
  const std::size_t kind = random.below(3);
  const auto data = draw(random, 8, columns, kind, random.below(2) == 0 ? 1 : 5);
  check(data, {draw_row(random, data, kind), draw_row(random, data, kind)});
}

// More points than can be enumerated: two columns by sweep and by flow, more by flow alone; the
// slices against all points. A `heaviest` that takes the total to 2^32 uses all 62 bits.
void check_against_all(Random& random, std::size_t most, std::size_t heaviest) {
  ++inputs;
  const std::size_t columns = 2 + random.below(3), kind = random.below(3);
  auto data = draw(random, most, columns, kind, heaviest);
  for (Vector& vector : data) {  // a higher sum means more ones
    double sum = 0;
    for (const double s : vector.scores) sum += std::max(-1e3, std::min(s, 1e3));
    const bool one = random.below(1500 * columns) < sum + 250;
    const std::int64_t weight = vector.zeros + vector.ones;
    vector.zeros = one ? 0 : weight;
    vector.ones = one ? weight : 0;
  }
  const Arrays arrays(data);
  const abers::Poset rule = arrays.fitted(false), flow = arrays.fitted(true);
  for (int i = 0; i < 5; ++i) {
    const Row row = draw_row(random, data, kind);
    const abers::Pair expected = read(rule, row, true);
    require(expected.lower < expected.upper, "the bounds differ");
    require(read(rule, row, false) == expected, "slices agree with all points");
    require(read(flow, row, false) == expected, "the flow agrees with the sweep");
  }
}

// One column is the ordinary rule; threads give what one gives; NaN is counted.
void check_batches(Random& random) {
  ++inputs;
  std::vector<Vector> data;
  for (int i = 0; i < 400; ++i) {
    const bool one = random.below(400) < static_cast<std::size_t>(i);
    const auto x = static_cast<double>(i / 3);
    data.push_back({{x, static_cast<double>(random.below(500))}, one ? 0 : 1, one ? 1 : 0});
  }
  const Arrays arrays(data);
  const abers::Poset rule = arrays.fitted(false);
  std::vector<double> rows;
  for (int i = 0; i < 200; ++i) {
    const Row row = draw_row(random, data, 2);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  rows[7 * 2 + 1] = rows[150 * 2] = std::nan("");
  std::vector<abers::Pair> alone(200), shared(200);
  const abers::Missing missing = rule.bounds(rows.data(), 200, alone.data(), 1);
  require(missing.count == 2 && missing.first == 7, "NaN is counted");
  require(rule.bounds(rows.data(), 200, shared.data(), 3).first == 7, "by threads, too");
  for (std::size_t i = 0; i < 200; ++i) {
    if (i == 7 || i == 150) {
      require(std::isnan(alone[i].lower) && std::isnan(alone[i].upper), "NaN in, NaN out");
    } else {
      require(alone[i] == shared[i], "threads do not change rows");
    }
  }
}

void check_one_column(Random& random) {
  ++inputs;
  std::vector<naive::Observation> observations;
  std::vector<Vector> data;
  for (std::size_t i = 0, size = 1 + random.below(30); i < size; ++i) {
    const auto score = static_cast<double>(random.below(20));
    const bool one = random.below(20) < score;
    observations.push_back({score, one});
    data.push_back({{score}, one ? 0 : 1, one ? 1 : 0});
  }
  const Arrays arrays(data);
  const abers::Poset kept = arrays.fitted(false);
  for (int half = -1; half < 41; ++half) {
    const double s = half / 2.0;
    const abers::Pair expected{naive::refit(observations, s, 0),
                               naive::refit(observations, s, 1)};
    require(read(kept, {s}, false) == expected, "one column is a chain");
  }
}

}  // namespace

int main() {
  Random random;
  for (std::size_t n = 1; n <= 5; ++n) check_all_orders(n);
  const long orders = inputs;
  check_all_ties();
  for (int i = 0; i < 20000; ++i) check_enumeration(random);
  for (int i = 0; i < 300; ++i) check_against_all(random, 60, 1);
  for (int i = 0; i < 300; ++i) check_against_all(random, 60, 50'000'000);
  for (int i = 0; i < 20; ++i) check_against_all(random, 600, 3);
  for (int i = 0; i < 5; ++i) check_batches(random);
  for (int i = 0; i < 300; ++i) check_one_column(random);
  std::printf("poset: all %ld orders with labels, %ld inputs, %ld checks\n", orders, inputs,
              checks);
  std::printf("1 passed, 0 failed\n");
}
