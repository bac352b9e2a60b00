// The kernel against the naive definition, without Python: run under the sanitizers.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "../blocks.hpp"
#include "../diagram.hpp"
#include "../fit.hpp"
#include "../lookup.hpp"
#include "../mann_whitney.hpp"
#include "../merging.hpp"
#include "../runs.hpp"
#include "naive.hpp"

namespace {

using naive::Observation;
constexpr double kInf = std::numeric_limits<double>::infinity();
long checks = 0;

void require(bool holds, const char* claim) {
  ++checks;
  if (holds) return;
  std::printf("FAILED: %s\n", claim);
  std::exit(1);
}

struct Random {
  std::mt19937_64 engine{20151116};
  std::size_t below(std::size_t n) { return engine() % n; }
};

// Small sets with many ties, and among the scores everything a double can be but NaN.
std::vector<Observation> draw(Random& random, std::size_t largest) {
  static const double odd[] = {-kInf,  -1e308, -1,    -5e-324, 0,
                               5e-324, 1e-17,  2e-17, 1,       std::nextafter(1.0, 2.0),
                               1e308,  kInf};
  std::vector<Observation> data(1 + random.below(largest));
  const bool use_odd = random.below(2) == 0;
  const std::size_t distinct = 1 + random.below(2 * largest);
  const std::size_t ones_in_ten = random.below(11);
  for (auto& d : data) {
    d.score = use_odd ? odd[random.below(12)] : static_cast<double>(random.below(distinct));
    d.label = random.below(10) < ones_in_ten;
  }
  return data;
}

struct Sorted {
  std::vector<double> zeros, ones;
  abers::Classes view() const {
    return {zeros.data(), zeros.size(), ones.data(), ones.size()};
  }
  abers::Classes exchanged() const {
    return {ones.data(), ones.size(), zeros.data(), zeros.size()};
  }
};

Sorted split(const std::vector<Observation>& data) {
  std::vector<double> scores, out(data.size());
  std::vector<std::int64_t> labels;
  for (const auto& d : data) {
    scores.push_back(d.score);
    labels.push_back(d.label);
  }
  const auto found =
      abers::split_by_label(scores.data(), labels.data(), scores.size(), out.data());
  require(found.missing_scores == 0 && found.bad_labels == 0, "clean data split cleanly");
  const auto middle = out.begin() + static_cast<std::ptrdiff_t>(found.zeros);
  Sorted sorted{{out.begin(), middle}, {middle, out.end()}};
  std::sort(sorted.zeros.begin(), sorted.zeros.end());
  std::sort(sorted.ones.begin(), sorted.ones.end());
  return sorted;
}

bool same(const abers::Table& a, const abers::Table& b) {
  return a.thresholds == b.thresholds && a.bounds == b.bounds;
}

std::pair<double, double> read(const abers::Table& table, double s) {
  const abers::RuleView view{table.thresholds.data(), table.thresholds.size(),
                             table.bounds.data()};
  abers::Pair out;
  const abers::Missing missing = abers::bounds(view, abers::Index(), &s, 1, &out);
  require(missing.count == 0, "a number is not missing");
  return {out.lower, out.upper};
}

std::vector<double> places(const std::vector<Observation>& data) {
  std::vector<double> s{-kInf, kInf, 0.0};
  for (const auto& d : data) {
    s.push_back(d.score);
    s.push_back(std::nextafter(d.score, kInf));
    s.push_back(std::nextafter(d.score, -kInf));
  }
  return s;
}

void check_exact(Random& random) {
  const auto data = draw(random, 9);
  const Sorted sorted = split(data);
  const abers::Table table =
      abers::fit_classes(sorted.view(), abers::Direction::increasing);
  for (double s : places(data)) {
    const auto [lower, upper] = read(table, s);
    require(lower == naive::refit(data, s, 0), "lower bound is the refitted value");
    require(upper == naive::refit(data, s, 1), "upper bound is the refitted value");
    require(lower < upper, "lower < upper");
  }
  for (std::size_t j = 0; j < table.thresholds.size(); ++j) {
    require(table.thresholds[j] > -kInf, "no piece lies below -inf");
    require(j == 0 || table.thresholds[j - 1] < table.thresholds[j], "ascending");
    require(table.bounds[j] != table.bounds[j + 1], "every threshold changes a value");
  }
}

void check_decreasing(Random& random) {
  const auto data = draw(random, 9);
  auto negated = data;
  for (auto& d : negated) d.score = -d.score;
  const abers::Table falling =
      abers::fit_classes(split(data).exchanged(), abers::Direction::decreasing);
  for (double s : places(data)) {
    const auto [lower, upper] = read(falling, s);
    require(lower == naive::refit(negated, -s, 0), "falling lower bound");
    require(upper == naive::refit(negated, -s, 1), "falling upper bound");
  }
}

void check_paths_agree(Random& random) {
  const auto data = draw(random, 60);
  const Sorted sorted = split(data);
  const auto increasing = abers::Direction::increasing;
  std::vector<double> scores, all;
  std::vector<std::int64_t> negatives, positives;
  abers::for_each_distinct(sorted.view(), [&](double s, std::size_t n, std::size_t y) {
    scores.push_back(s);
    negatives.push_back(static_cast<std::int64_t>(n));
    positives.push_back(static_cast<std::int64_t>(y));
  });
  const abers::Table table = abers::fit_classes(sorted.view(), increasing);
  require(same(table, abers::fit_counts(scores.data(), negatives.data(), positives.data(),
                                        scores.size(), 1, increasing)),
          "classes and counts give one table");
  require(same(table, abers::fit_dense<std::uint64_t>(sorted.view(), increasing)),
          "narrow and wide integers give one table");
  for (const auto& d : data) all.push_back(d.score);
  std::sort(all.begin(), all.end());
  for (std::size_t r = 1; r <= all.size(); ++r) {
    require(abers::order_statistic(sorted.view(), r) == all[r - 1], "order statistics");
  }
}

// The fast fit with strides so small that every branch runs on small sets.
void check_relevance(Random& random) {
  const auto data = draw(random, 400);
  const Sorted sorted = split(data);
  const std::size_t ratio = 2 + random.below(3);
  std::size_t stride = ratio;
  while (random.below(2) == 0) stride *= ratio;
  for (const auto direction :
       {abers::Direction::increasing, abers::Direction::decreasing}) {
    const auto points = abers::relevant_points<std::uint32_t>(sorted.view(), stride, ratio);
    auto bounds = abers::bounds_from_points(points, sorted.view(), direction);
    require(same(abers::assemble(std::move(bounds), direction),
                 abers::fit_dense<std::uint32_t>(sorted.view(), direction)),
            "skipping irrelevant groups changes nothing");
  }
}

// The lemma's last part: a group whose Q is strictly below the minorant of the points taken
// has it below a bridge as well, so bridges alone find every corner.
void check_minorant_below_bridges(Random& random) {
  const Sorted sorted = split(draw(random, 60));
  abers::Points<std::uint32_t> points;
  const auto all = abers::cumulated<std::uint32_t>(sorted.view());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || i + 1 == all.size() || random.below(3) == 0) points.push_back(all[i]);
  }
  const auto relevant = abers::relevant_groups(points);
  const auto corners = abers::minorant(points);
  for (std::size_t c = 0; c + 1 < corners.size(); ++c) {
    const auto from = points[corners[c]], edge = points[corners[c + 1]] - from;
    for (std::size_t j = corners[c]; j < corners[c + 1]; ++j) {
      const abers::Step<std::uint32_t> q{points[j + 1].n, points[j].y};
      require(relevant[j] || !steeper(edge, q - from), "what may be a corner is relevant");
    }
  }
}

struct Counts {
  std::vector<double> scores;
  std::vector<std::int64_t> negatives, positives;
  abers::Run view() const {
    return {scores.data(), negatives.data(), positives.data(), scores.size()};
  }
};

using ByScore = std::map<double, std::pair<std::int64_t, std::int64_t>>;

Counts counted(const ByScore& by_score) {
  Counts counts;
  for (const auto& [score, masses] : by_score) {
    counts.scores.push_back(score);
    counts.negatives.push_back(masses.first);
    counts.positives.push_back(masses.second);
  }
  return counts;
}

// Weights of observations in units of which a new case weighs many: from few to so many that
// all of them with the new case add up to almost 2^53.
struct Weighed {
  Counts counts;
  std::int64_t postulate;

  abers::Table fitted(abers::Direction direction) const {
    const bool rising = direction == abers::Direction::increasing;
    return abers::fit_counts(
        counts.scores.data(), (rising ? counts.negatives : counts.positives).data(),
        (rising ? counts.positives : counts.negatives).data(), counts.scores.size(),
        static_cast<std::uint64_t>(postulate), direction);
  }
};

Weighed draw_weighed(Random& random, std::size_t largest) {
  const int exponent = static_cast<int>(random.below(41));
  const int spread = static_cast<int>(1 + random.below(46));
  ByScore by_score;
  for (const auto& d : draw(random, largest)) {
    auto& masses = by_score[d.score];
    const int bits = static_cast<int>(1 + random.below(static_cast<std::size_t>(spread)));
    (d.label ? masses.second : masses.first) +=
        static_cast<std::int64_t>(1 + random.below(std::size_t{1} << bits));
  }
  return {counted(by_score), std::int64_t{1} << exponent};
}

void check_postulate(Random& random) {
  const Weighed weighed = draw_weighed(random, 9);
  const Counts& counts = weighed.counts;
  std::vector<naive::Mass> masses, negated;
  std::vector<Observation> at;
  for (std::size_t i = 0; i < counts.scores.size(); ++i) {
    masses.push_back({counts.scores[i], counts.negatives[i], counts.positives[i]});
    negated.push_back({-counts.scores[i], counts.negatives[i], counts.positives[i]});
    at.push_back({counts.scores[i], 0});
  }
  const abers::Table rising = weighed.fitted(abers::Direction::increasing);
  const abers::Table falling = weighed.fitted(abers::Direction::decreasing);
  for (double s : places(at)) {
    const std::pair<double, double> up{naive::refit(masses, s, 0, weighed.postulate),
                                       naive::refit(masses, s, 1, weighed.postulate)};
    const std::pair<double, double> down{naive::refit(negated, -s, 0, weighed.postulate),
                                         naive::refit(negated, -s, 1, weighed.postulate)};
    require(read(rising, s) == up, "bounds with a heavy new case are refitted values");
    require(read(falling, s) == down, "falling bounds with a heavy new case");
  }
}

// The same weights in a finer unit are the same rule; so are narrow and wide integers.
void check_units(Random& random) {
  const auto increasing = abers::Direction::increasing;
  ByScore by_score;
  for (const auto& d : draw(random, 60)) {
    auto& masses = by_score[d.score];
    (d.label ? masses.second : masses.first) += 1;
  }
  Weighed weighed{counted(by_score), 1};
  const abers::Table expected = weighed.fitted(increasing);
  const int finer = static_cast<int>(random.below(45));
  weighed.postulate <<= finer;
  for (auto* masses : {&weighed.counts.negatives, &weighed.counts.positives}) {
    for (std::int64_t& mass : *masses) mass <<= finer;
  }
  require(same(weighed.fitted(increasing), expected), "the unit changes nothing");
}

// Around 2^32 narrow and wide coordinates meet: one of them all but overflows.
void check_largest_narrow(Random& random) {
  Weighed weighed = draw_weighed(random, 9);
  Counts& counts = weighed.counts;
  constexpr std::int64_t end = std::int64_t{1} << 32;
  weighed.postulate = static_cast<std::int64_t>(1 + random.below(end / 2));
  std::int64_t total = weighed.postulate;
  for (auto* masses : {&counts.negatives, &counts.positives}) {
    for (std::int64_t& mass : *masses) {
      mass = std::min<std::int64_t>(mass, 100000000);
      total += mass;
    }
  }
  counts.negatives.back() += end + 2 - static_cast<std::int64_t>(random.below(5)) - total;
  require(same(weighed.fitted(abers::Direction::increasing),
               abers::fit_counts_as<std::uint64_t>(
                   counts.scores.data(), counts.negatives.data(), counts.positives.data(),
                   counts.scores.size(), static_cast<std::uint64_t>(weighed.postulate),
                   abers::Direction::increasing)),
          "narrow integers are used only where they are exact");
}

// A part of the scores with the corners of the rest gives its piece of the whole table.
void check_blocks(Random& random) {
  Weighed weighed = draw_weighed(random, 60);
  if (random.below(4) == 0) weighed.postulate = 1;
  const auto& [scores, negatives, positives] = weighed.counts;
  const auto postulate = static_cast<std::uint64_t>(weighed.postulate);
  const std::size_t size = scores.size();
  const std::size_t a = random.below(size), b = a + 1 + random.below(size - a);
  const auto points =
      abers::cumulated<std::uint64_t>(negatives.data(), positives.data(), size);
  const auto at = [&](std::size_t i) {
    return points.begin() + static_cast<std::ptrdiff_t>(i);
  };
  const auto increasing = abers::Direction::increasing;
  const abers::WidePoints left = abers::corners_of({points.begin(), at(a + 1)});
  const abers::WidePoints right = abers::corners_of({at(b + 1), points.end()});
  const abers::Table part =
      abers::fit_part(scores.data() + a, negatives.data() + a, positives.data() + a, b - a,
                      left, right, postulate, increasing);
  require(same(part, abers::fit_part_as<std::uint64_t>(
                         scores.data() + a, negatives.data() + a, positives.data() + a,
                         b - a, left, right, postulate, increasing)),
          "narrow and wide coordinates agree");
  const abers::Table whole = weighed.fitted(increasing);
  for (std::size_t i = a; i < b; ++i) {
    require(read(part, scores[i]) == read(whole, scores[i]), "a part at its scores");
    if (i + 1 == b) break;
    const double between = abers::just_above(scores[i]);
    require(read(part, between) == read(whole, between), "a part between its scores");
  }
}

// Runs merge to what counting all observations at once gives, and so do their contents.
void check_runs(Random& random) {
  std::vector<Counts> runs;
  ByScore whole;
  abers::Content sum;
  for (std::size_t k = 2 + random.below(6); k > 0; --k) {
    ByScore own;
    if (random.below(5) > 0) {
      for (const auto& d : draw(random, 20)) {
        for (ByScore* counts : {&own, &whole}) {
          auto& masses = (*counts)[d.score];
          (d.label ? masses.second : masses.first) += 1;
        }
      }
    }
    runs.push_back(counted(own));
    const abers::Content content = abers::content(runs.back().view(), 1, 2);
    sum.negatives += content.negatives;
    sum.positives += content.positives;
    sum.hash += content.hash;
  }
  std::vector<abers::Run> views;
  for (const auto& each : runs) views.push_back(each.view());
  const abers::MergedRun merged = abers::merged(views.data(), views.size());
  const Counts expected = counted(whole);
  const auto equal = [](const auto& a, const auto& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  require(equal(merged.scores, expected.scores), "merged scores");
  require(equal(merged.negatives, expected.negatives), "merged negatives");
  require(equal(merged.positives, expected.positives), "merged positives");
  const abers::Content content = abers::content(merged.view(), 1, 2);
  require(content.negatives == sum.negatives && content.positives == sum.positives &&
              content.hash == sum.hash,
          "contents add up");
}

// Counting two classes gives what visiting their distinct scores gives.
void check_counting(Random& random) {
  const Sorted sorted = split(draw(random, 60));
  const abers::MergedRun found = abers::counted(sorted.view());
  std::size_t k = 0;
  abers::for_each_distinct(sorted.view(), [&](double s, std::size_t n, std::size_t y) {
    require(k < found.scores.size() && found.scores[k] == s &&
                found.negatives[k] == static_cast<std::int64_t>(n) &&
                found.positives[k] == static_cast<std::int64_t>(y),
            "counts of a score");
    ++k;
  });
  require(k == found.scores.size(), "as many scores");
}

// The summary of a part: the corners between its ends, and the positions of ranks.
void check_summary(Random& random) {
  ByScore by_score;
  const bool wide = random.below(2) == 0;
  for (const auto& d : draw(random, 40)) {
    auto& masses = by_score[d.score];
    (d.label ? masses.second : masses.first) += wide ? std::int64_t{1} << 40 : 1;
  }
  const Counts part = counted(by_score);
  const std::size_t size = part.scores.size();
  const auto points =
      abers::cumulated<std::uint64_t>(part.negatives.data(), part.positives.data(), size);
  const abers::WidePoints expected =
      abers::corners_of({points.begin() + 1, points.end() - 1});
  const abers::WidePoints found =
      abers::inner_corners(part.negatives.data(), part.positives.data(), size);
  require(found.size() == expected.size(), "as many inner corners");
  for (std::size_t i = 0; i < found.size(); ++i) {
    require(found[i].n == expected[i].n && found[i].y == expected[i].y, "inner corners");
  }
  const std::uint64_t total = points.back().n + points.back().y;
  std::vector<std::int64_t> ranks;
  for (int i = 0; i < 5; ++i) {
    ranks.push_back(static_cast<std::int64_t>(1 + random.below(total)));
  }
  std::sort(ranks.begin(), ranks.end());
  const abers::Ranked ranked = abers::ranked(part.negatives.data(), part.positives.data(),
                                             ranks.data(), ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto place = static_cast<std::size_t>(ranked.places[i]);
    const auto rank = static_cast<std::uint64_t>(ranks[i]);
    const auto below = points[place], above = points[place + 1];
    require(below.n + below.y < rank && rank <= above.n + above.y, "the place of a rank");
    require(static_cast<std::uint64_t>(ranked.negatives[i]) == below.n &&
                static_cast<std::uint64_t>(ranked.positives[i]) == below.y,
            "what is below a rank");
  }
}

// K rules read and merged in batches give what merging all their bounds gives.
void check_merged_rules(Random& random) {
  const std::size_t rows = 1 + random.below(5000), folds = 1 + random.below(4);
  std::vector<abers::Table> tables;
  std::vector<abers::Index> indices(folds);
  std::vector<double> scores(rows), merged(rows), expected(rows);
  for (double& s : scores) s = static_cast<double>(random.below(50)) / 3;
  std::vector<abers::Fold> read_by;
  std::vector<abers::Pair> all(folds * rows);
  for (std::size_t k = 0; k < folds; ++k) {
    tables.push_back(
        abers::fit_classes(split(draw(random, 30)).view(), abers::Direction::increasing));
  }
  for (std::size_t k = 0; k < folds; ++k) {
    const abers::RuleView rule{tables[k].thresholds.data(), tables[k].thresholds.size(),
                               tables[k].bounds.data()};
    read_by.push_back({rule, &indices[k], scores.data()});
    abers::bounds(rule, indices[k], scores.data(), rows, all.data() + k * rows);
  }
  for (const auto loss : {abers::Loss::log, abers::Loss::brier}) {
    abers::merge_rules(read_by, rows, loss, merged.data());
    abers::merge_folds(all.data(), folds, rows, loss, expected.data());
    require(merged == expected, "rules merged in batches");
  }
}

// Any index against std::upper_bound, on thresholds of all magnitudes and at all places.
void check_index(Random& random) {
  const double scale = std::ldexp(1.0, static_cast<int>(random.below(1000)) - 500);
  const std::size_t size = random.below(40);
  std::vector<double> thresholds, sample;
  for (std::size_t j = 0; j < size; ++j) {
    const double u = static_cast<double>(random.below(2000)) / 1000 - 1;
    thresholds.push_back(random.below(2) == 0 ? u * scale : std::pow(u, 9));
  }
  if (random.below(4) == 0) thresholds.push_back(kInf);
  if (random.below(4) == 0) thresholds.push_back(-std::numeric_limits<double>::max());
  for (double& t : thresholds) t += 0.0;
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  std::vector<abers::Pair> values(thresholds.size() + 1);
  for (std::size_t j = 0; j < values.size(); ++j) values[j].lower = static_cast<double>(j);
  for (int i = 0; i < 11; ++i) {
    sample.push_back(thresholds.empty() ? 0 : thresholds[random.below(thresholds.size())]);
  }
  const abers::RuleView rule{thresholds.data(), thresholds.size(), values.data()};
  const abers::Index index(thresholds.data(), thresholds.size(), sample.data(),
                           sample.size());
  std::vector<double> scores{-kInf, -1e308, -0.0, 0.0, 1e308, kInf};
  for (double t : thresholds) {
    scores.insert(scores.end(),
                  {t, std::nextafter(t, kInf), std::nextafter(t, -kInf), t / 2, t * 2, -t});
  }
  std::vector<abers::Pair> fast(scores.size()), plain(scores.size());
  abers::bounds(rule, index, scores.data(), scores.size(), fast.data());
  abers::bounds(rule, abers::Index(), scores.data(), scores.size(), plain.data());
  require(fast == plain, "the index finds the piece that a search finds");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto piece = std::upper_bound(thresholds.begin(), thresholds.end(), scores[i]) -
                       thresholds.begin();
    require(fast[i].lower == static_cast<double>(piece), "the piece is the right one");
  }
}

void check_missing() {
  const double scores[] = {1, std::nan(""), 2, std::nan("")};
  const double labels[] = {0, 1, 3, std::nan("")};
  double out[4];
  const auto found = abers::split_by_label(scores, labels, 4, out);
  require(found.missing_scores == 2 && found.first_missing_score == 1, "NaN is counted");
  require(found.bad_labels == 2 && found.first_bad_label == 2, "bad labels are counted");
  const abers::Pair only{0.25, 0.75};
  const abers::RuleView rule{nullptr, 0, &only};
  abers::Pair pairs[4];
  const auto missing = abers::bounds(rule, abers::Index(), scores, 4, pairs);
  require(missing.count == 2 && missing.first == 1, "NaN scores are reported");
  require(pairs[1].lower != pairs[1].lower && pairs[0] == only, "NaN in, NaN out");
}

void check_merging(Random& random) {
  const std::size_t folds = 1 + random.below(200);
  std::vector<abers::Pair> bounds;
  long double ones = 0, zeros = 0, brier = 0;
  for (std::size_t k = 0; k < folds; ++k) {
    const double p1 = std::ldexp(1.0, -static_cast<int>(random.below(40)));
    bounds.push_back({p1 / 2, p1});
    const long double p = p1;
    ones += std::log(p);
    zeros += std::log1p(-p / 2);
    brier += p + (p * p / 4 - p * p) / 2;
  }
  const auto k = static_cast<long double>(folds);
  double merged;
  abers::merge_folds(bounds.data(), folds, 1, abers::Loss::log, &merged);
  const long double exact = 1 / (1 + std::exp((zeros - ones) / k));
  require(std::fabs(merged - exact) <= 1e-15L * exact, "log-merged probability");
  abers::merge_folds(bounds.data(), folds, 1, abers::Loss::brier, &merged);
  require(std::fabs(merged - brier / k) <= 1e-15L * brier / k, "Brier-merged probability");
}

// Each pair of a zero and a one is compared.
void check_pairs_in_order(Random& random) {
  const Sorted sorted = split(draw(random, 60));
  double in_order = 0;
  for (double zero : sorted.zeros) {
    for (double one : sorted.ones) in_order += 0.5 * (zero < one) + 0.5 * (zero <= one);
  }
  require(abers::pairs_in_order(sorted.view()) == in_order, "pairs in order");
}

// A rule larger than the caches takes another way through the index.
void check_large_rule(Random& random) {
  std::vector<double> thresholds;
  for (int j = 0; j < 40000; ++j) {
    thresholds.push_back(std::exp(static_cast<double>(random.below(1 << 20)) / 1500));
  }
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  std::vector<abers::Pair> values(thresholds.size() + 1);
  for (std::size_t j = 0; j < values.size(); ++j) values[j].upper = static_cast<double>(j);
  const abers::RuleView rule{thresholds.data(), thresholds.size(), values.data()};
  std::vector<double> scores{-kInf, 0, kInf, std::nan("")};
  for (double t : thresholds) scores.insert(scores.end(), {t, std::nextafter(t, 0)});
  std::vector<abers::Pair> fast(scores.size()), plain(scores.size());
  // Samples at one end or the other make either map the better one.
  for (const double sample : {thresholds.front(), thresholds.back()}) {
    const abers::Index index(thresholds.data(), thresholds.size(), &sample, 1);
    const auto missing =
        abers::bounds(rule, index, scores.data(), scores.size(), fast.data());
    abers::bounds(rule, abers::Index(), scores.data(), scores.size(), plain.data());
    require(missing.count == 1 && missing.first == 3, "the NaN is found");
    for (std::size_t i = 4; i < scores.size(); ++i) {
      require(fast[i] == plain[i], "large rules are read right");
    }
  }
}

}  // namespace

int main() {
  Random random;
  check_missing();
  for (int i = 0; i < 100000; ++i) check_exact(random);
  for (int i = 0; i < 20000; ++i) check_decreasing(random);
  for (int i = 0; i < 20000; ++i) check_paths_agree(random);
  for (int i = 0; i < 20000; ++i) check_relevance(random);
  for (int i = 0; i < 20000; ++i) check_minorant_below_bridges(random);
  for (int i = 0; i < 20000; ++i) check_postulate(random);
  for (int i = 0; i < 20000; ++i) check_units(random);
  for (int i = 0; i < 20000; ++i) check_largest_narrow(random);
  for (int i = 0; i < 20000; ++i) check_blocks(random);
  for (int i = 0; i < 20000; ++i) check_runs(random);
  for (int i = 0; i < 20000; ++i) check_counting(random);
  for (int i = 0; i < 20000; ++i) check_summary(random);
  for (int i = 0; i < 200; ++i) check_merged_rules(random);
  for (int i = 0; i < 20000; ++i) check_index(random);
  for (int i = 0; i < 20000; ++i) check_merging(random);
  for (int i = 0; i < 20000; ++i) check_pairs_in_order(random);
  for (int i = 0; i < 10; ++i) check_large_rule(random);
  std::printf("kernel: 400211 random inputs, %ld checks\n1 passed, 0 failed\n", checks);
}
