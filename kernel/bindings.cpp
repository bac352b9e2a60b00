// Python's view of the kernel: types, ownership and the GIL, nothing else.
//
// Arrays must be contiguous and of the named type; nothing is converted here
// (abers.validation does that, visibly). Lengths are checked here, because a wrong one
// would read memory that is not ours; their contents are trusted. The kernel
// never calls Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "blocks.hpp"
#include "diagram.hpp"
#include "fit.hpp"
#include "jumper.hpp"
#include "lookup.hpp"
#include "mann_whitney.hpp"
#include "merging.hpp"
#include "own_weight.hpp"
#include "pooled.hpp"
#include "portable.hpp"
#include "poset.hpp"
#include "protection.hpp"
#include "ranks.hpp"
#include "runs.hpp"
#include "window.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IntOutput = nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using FactorRows = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using WeightRows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using IntPairs =
    nb::ndarray<const std::int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using FoldPairs =
    nb::ndarray<const double, nb::shape<-1, -1, 2>, nb::c_contig, nb::device::cpu>;

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;

void require(bool holds, const char* what) {
  if (!holds) throw nb::value_error(what);
}

// Move a vector to the heap and make Python's garbage collector its owner.
template <class Vector>
std::pair<Vector*, nb::capsule> kept(Vector&& values) {
  auto* heap = new Vector(std::move(values));
  return {heap,
          nb::capsule(heap, [](void* p) noexcept { delete static_cast<Vector*>(p); })};
}

template <class Vector, class T = typename Vector::value_type>
Array<T> owned(Vector&& values) {
  const auto [heap, owner] = kept(std::move(values));
  return Array<T>(heap->data(), {heap->size()}, owner);
}

using PairArray =
    nb::ndarray<const double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

static_assert(sizeof(abers::Pair) == 2 * sizeof(double));

Input<double> adopt(abers::Vector<double>&& values) {
  return nb::cast<Input<double>>(nb::cast(owned(std::move(values))));
}

PairArray adopt(abers::Vector<abers::Pair>&& pairs) {
  const auto [heap, owner] = kept(std::move(pairs));
  return nb::cast<PairArray>(nb::cast(nb::ndarray<nb::numpy, const double, nb::ndim<2>>(
      heap->data(), {heap->size(), 2}, owner)));
}

// The arrays of a rule, read-only for everyone: Python gets views whose base is this
// object, which exports no writable buffer.
struct PyTable {
  Input<double> thresholds, quantiles;
  PairArray pairs;
  abers::Index index;

  PyTable(abers::Table&& table, Input<double> q)
      : thresholds(adopt(std::move(table.thresholds))),
        quantiles(std::move(q)),
        pairs(adopt(std::move(table.bounds))) {
    make_index();
  }

  PyTable(Input<double> t, Input<double> lower, Input<double> upper, Input<double> q)
      : thresholds(std::move(t)), quantiles(std::move(q)) {
    require(lower.size() == thresholds.size() + 1 && upper.size() == lower.size(),
            "lower and upper must have one value more than thresholds");
    abers::Vector<abers::Pair> both(lower.size());
    for (std::size_t j = 0; j < both.size(); ++j) {
      both[j] = {lower.data()[j], upper.data()[j]};
    }
    pairs = adopt(std::move(both));
    make_index();
  }

  abers::RuleView view() const {
    return {thresholds.data(), thresholds.size(),
            reinterpret_cast<const abers::Pair*>(pairs.data())};
  }

 private:
  void make_index() {
    nb::gil_scoped_release release;
    index = abers::Index(thresholds.data(), thresholds.size(), quantiles.data(),
                         quantiles.size());
  }
};

abers::Direction direction(bool increasing) {
  return increasing ? abers::Direction::increasing : abers::Direction::decreasing;
}

abers::Classes classes(const Input<double>& zeros, const Input<double>& ones) {
  return {zeros.data(), zeros.size(), ones.data(), ones.size()};
}

template <class Label>
auto split_by_label(Input<double> scores, Input<Label> labels, Output out) {
  require(labels.size() == scores.size() && out.size() == scores.size(),
          "scores, labels and out must have one length");
  abers::Split found;
  {
    nb::gil_scoped_release release;
    found = abers::split_by_label(scores.data(), labels.data(), scores.size(), out.data());
  }
  return std::make_tuple(found.zeros, found.missing_scores, found.first_missing_score,
                         found.bad_labels, found.first_bad_label);
}

auto columns(abers::MergedRun&& run) {
  return std::make_tuple(owned(std::move(run.scores)), owned(std::move(run.negatives)),
                         owned(std::move(run.positives)));
}

auto merge_classes(Input<double> zeros, Input<double> ones) {
  abers::MergedRun counted;
  {
    nb::gil_scoped_release release;
    counted = abers::counted(classes(zeros, ones));
  }
  return columns(std::move(counted));
}

bool is_ascending(Input<double> scores) {
  nb::gil_scoped_release release;
  return std::is_sorted(scores.data(), scores.data() + scores.size());
}

auto order_statistics(Input<double> zeros, Input<double> ones, Input<std::int64_t> ranks) {
  const auto total = static_cast<std::int64_t>(zeros.size() + ones.size());
  abers::Vector<double> found(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    require(ranks.data()[i] >= 1 && ranks.data()[i] <= total,
            "ranks must be from 1 to the number of scores");
    found[i] = abers::order_statistic(classes(zeros, ones),
                                      static_cast<std::size_t>(ranks.data()[i]));
  }
  return owned(std::move(found));
}

PyTable fit_classes(Input<double> zeros, Input<double> ones, Input<double> quantiles,
                    bool increasing) {
  require(zeros.size() + ones.size() > 0, "there must be an observation");
  abers::Table table;
  {
    nb::gil_scoped_release release;
    const auto& first = increasing ? zeros : ones;
    const auto& second = increasing ? ones : zeros;
    table = abers::fit_classes(classes(first, second), direction(increasing));
  }
  return {std::move(table), std::move(quantiles)};
}

// The weight of a new case in the unit of the counts.
std::uint64_t weight_of_new_case(std::int64_t postulate) {
  require(postulate >= 1, "postulate must be at least 1");
  return static_cast<std::uint64_t>(postulate);
}

PyTable fit_diagram(Input<double> scores, Input<std::int64_t> negatives,
                    Input<std::int64_t> positives, Input<double> quantiles, bool increasing,
                    std::int64_t postulate) {
  require(scores.size() > 0, "there must be a score");
  require(negatives.size() == scores.size() && positives.size() == scores.size(),
          "scores, negatives and positives must have one length");
  const std::uint64_t new_case = weight_of_new_case(postulate);
  abers::Table table;
  {
    nb::gil_scoped_release release;
    const auto& first = increasing ? negatives : positives;
    const auto& second = increasing ? positives : negatives;
    table = abers::fit_counts(scores.data(), first.data(), second.data(), scores.size(),
                              new_case, direction(increasing));
  }
  return {std::move(table), std::move(quantiles)};
}

double pairs_in_order(Input<double> zeros, Input<double> ones) {
  nb::gil_scoped_release release;
  return abers::pairs_in_order(classes(zeros, ones));
}

abers::WidePoints points(const IntPairs& pairs) {
  abers::WidePoints result(pairs.shape(0));
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = {static_cast<std::uint64_t>(pairs.data()[2 * i]),
                 static_cast<std::uint64_t>(pairs.data()[2 * i + 1])};
  }
  return result;
}

auto pairs_of(const abers::WidePoints& points) {
  abers::Vector<std::int64_t> pairs;
  pairs.reserve(2 * points.size());
  for (const auto& point : points) {
    pairs.push_back(static_cast<std::int64_t>(point.n));
    pairs.push_back(static_cast<std::int64_t>(point.y));
  }
  const auto [heap, owner] = kept(std::move(pairs));
  return nb::ndarray<nb::numpy, std::int64_t, nb::shape<-1, 2>, nb::c_contig>(
      heap->data(), {heap->size() / 2, 2}, owner);
}

auto minorant(IntPairs pairs) {
  abers::WidePoints corners;
  {
    nb::gil_scoped_release release;
    corners = abers::corners_of(points(pairs));
  }
  return pairs_of(corners);
}

auto inner_corners(Input<std::int64_t> zeros, Input<std::int64_t> ones) {
  require(zeros.size() == ones.size(), "zeros and ones must have one length");
  abers::WidePoints corners;
  {
    nb::gil_scoped_release release;
    corners = abers::inner_corners(zeros.data(), ones.data(), zeros.size());
  }
  return pairs_of(corners);
}

abers::Run run(const Input<double>& scores, const Input<std::int64_t>& negatives,
               const Input<std::int64_t>& positives) {
  require(negatives.size() == scores.size() && positives.size() == scores.size(),
          "scores, negatives and positives must have one length");
  return {scores.data(), negatives.data(), positives.data(), scores.size()};
}

auto content(Input<double> scores, Input<std::int64_t> negatives,
             Input<std::int64_t> positives, std::uint64_t salt_zero,
             std::uint64_t salt_one) {
  const abers::Run counted = run(scores, negatives, positives);
  nb::gil_scoped_release release;
  const abers::Content found = abers::content(counted, salt_zero, salt_one);
  return std::make_tuple(found.negatives, found.positives, found.hash);
}

auto ranked(Input<std::int64_t> negatives, Input<std::int64_t> positives,
            Input<std::int64_t> ranks) {
  require(negatives.size() == positives.size(),
          "negatives and positives must have one length");
  const auto total = static_cast<std::int64_t>(
      abers::total_of(negatives.data(), positives.data(), negatives.size()));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    require(ranks.data()[i] >= 1 && ranks.data()[i] <= total,
            "ranks must be from 1 to the number of observations");
  }
  abers::Ranked found;
  {
    nb::gil_scoped_release release;
    found = abers::ranked(negatives.data(), positives.data(), ranks.data(), ranks.size());
  }
  return std::make_tuple(owned(std::move(found.places)), owned(std::move(found.negatives)),
                         owned(std::move(found.positives)));
}

auto merge_runs(const std::vector<Input<double>>& scores,
                const std::vector<Input<std::int64_t>>& negatives,
                const std::vector<Input<std::int64_t>>& positives) {
  require(scores.size() > 1 && negatives.size() == scores.size() &&
              positives.size() == scores.size(),
          "scores, negatives and positives must be lists of one length, two at least");
  std::vector<abers::Run> runs;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    runs.push_back(run(scores[k], negatives[k], positives[k]));
  }
  abers::MergedRun all;
  {
    nb::gil_scoped_release release;
    all = abers::merged(runs.data(), runs.size());
  }
  return columns(std::move(all));
}

auto fit_part(Input<double> scores, Input<std::int64_t> zeros, Input<std::int64_t> ones,
              IntPairs left, IntPairs right, bool increasing, std::int64_t postulate) {
  require(zeros.size() == scores.size() && ones.size() == scores.size(),
          "scores, zeros and ones must have one length");
  require(left.shape(0) > 0, "left must end with the point where the part starts");
  const std::uint64_t new_case = weight_of_new_case(postulate);
  abers::Table table;
  {
    nb::gil_scoped_release release;
    table = abers::fit_part(scores.data(), zeros.data(), ones.data(), scores.size(),
                            points(left), points(right), new_case, direction(increasing));
  }
  return std::make_pair(owned(std::move(table.thresholds)), adopt(std::move(table.bounds)));
}

auto bounds(const PyTable& table, Input<double> scores, Pairs out, std::size_t n_threads) {
  require(out.shape(0) == scores.size(), "out must have a row for each score");
  nb::gil_scoped_release release;
  const abers::Missing missing =
      abers::bounds(table.view(), table.index, scores.data(), scores.size(),
                    reinterpret_cast<abers::Pair*>(out.data()), n_threads);
  return std::make_pair(missing.count, missing.first);
}

abers::Loss loss(int code) {
  switch (code) {  // the codes of abers.core.merging.MERGES
    case 0:
      return abers::Loss::log;
    case 1:
      return abers::Loss::brier;
  }
  throw nb::value_error("the kernel knows no such loss");
}

void merge_folds(FoldPairs pairs, int code, Output out) {
  const abers::Loss merged_for = loss(code);
  require(pairs.shape(0) > 0, "there must be a fold");
  require(out.size() == pairs.shape(1), "out must have a value for each row");
  nb::gil_scoped_release release;
  abers::merge_folds(reinterpret_cast<const abers::Pair*>(pairs.data()), pairs.shape(0),
                     pairs.shape(1), merged_for, out.data());
}

auto merge_rules(const std::vector<const PyTable*>& tables,
                 const std::vector<Input<double>>& scores, int code, Output out) {
  const abers::Loss merged_for = loss(code);
  require(!tables.empty() && scores.size() == tables.size(),
          "tables and scores must be lists of one length, with a fold at least");
  for (std::size_t k = 0; k < tables.size(); ++k) {
    require(tables[k] != nullptr, "tables must not be None");
    require(scores[k].size() == out.size(), "out must have a value for each row");
  }
  nb::gil_scoped_release release;
  std::vector<abers::Fold> folds;
  for (std::size_t k = 0; k < tables.size(); ++k) {
    folds.push_back({tables[k]->view(), &tables[k]->index, scores[k].data()});
  }
  const abers::Missing missing =
      abers::merge_rules(folds, out.size(), merged_for, out.data());
  return std::make_pair(missing.count, missing.first);
}

using FoldScores =
    nb::ndarray<const double, nb::shape<-1, -1>, nb::c_contig, nb::device::cpu>;

// The folds of a pooled rule. The arrays of scores are kept, because the kernel reads its
// keys from them; the masses are not.
struct PyPooled {
  std::vector<Input<double>> scores;
  abers::Pooled pooled;

  // The postulated observation has weight postulate / scale.
  PyPooled(std::vector<Input<double>> s, const std::vector<Input<std::int64_t>>& negatives,
           const std::vector<Input<std::int64_t>>& positives, std::int64_t scale,
           std::int64_t postulate, bool increasing)
      : scores(std::move(s)) {
    require(negatives.size() == scores.size() && positives.size() == scores.size(),
            "scores, negatives and positives must be lists of one length");
    for (std::size_t k = 0; k < scores.size(); ++k) {
      require(negatives[k].size() == scores[k].size() &&
                  positives[k].size() == scores[k].size(),
              "the arrays of a fold must have one length");
    }
    nb::gil_scoped_release release;
    std::vector<abers::FoldCounts> folds;
    for (std::size_t k = 0; k < scores.size(); ++k) {
      const auto& first = increasing ? negatives[k] : positives[k];
      const auto& second = increasing ? positives[k] : negatives[k];
      folds.push_back({scores[k].data(), first.data(), second.data(), scores[k].size()});
    }
    pooled = abers::Pooled(folds, scale, postulate, direction(increasing));
  }

  auto bounds(FoldScores rows, Pairs out, std::size_t n_threads, int newton_steps) const {
    require(rows.shape(1) == scores.size() && out.shape(0) == rows.shape(0),
            "scores must have one column a fold, and out as many rows");
    nb::gil_scoped_release release;
    const abers::Missing missing =
        pooled.bounds(rows.data(), rows.shape(0),
                      reinterpret_cast<abers::Pair*>(out.data()), n_threads, newton_steps);
    return std::make_pair(missing.count, missing.first);
  }

  std::size_t bytes() const { return pooled.bytes(); }
};

// A diagram to which new rows are added with weights of their own. The scores are kept: the kernel
// reads from them.
struct PyOwnWeight {
  Input<double> scores;
  bool increasing;
  abers::OwnWeight diagram;

  PyOwnWeight(Input<double> s, Input<std::int64_t> negatives, Input<std::int64_t> positives,
              bool rises)
      : scores(std::move(s)), increasing(rises) {
    require(negatives.size() == scores.size() && positives.size() == scores.size(),
            "scores, negatives and positives must be equally long");
    nb::gil_scoped_release release;
    const auto* first = increasing ? negatives.data() : positives.data();
    const auto* second = increasing ? positives.data() : negatives.data();
    diagram = {scores.data(), first, second, scores.size(), direction(increasing)};
  }

  // A row weighs negatives[i] units as a 0 and positives[i] as a 1, of 2^-shifts[i] of the
  // diagram's.
  void bounds(Input<double> rows, Input<std::int64_t> negatives,
              Input<std::int64_t> positives, Input<std::int64_t> shifts, Pairs out) const {
    require(negatives.size() == rows.size() && positives.size() == rows.size() &&
                shifts.size() == rows.size() && out.shape(0) == rows.size(),
            "scores, weights, shifts and out must have as many rows");
    nb::gil_scoped_release release;
    auto* pairs = reinterpret_cast<abers::Pair*>(out.data());
    const auto* first = increasing ? negatives.data() : positives.data();
    const auto* second = increasing ? positives.data() : negatives.data();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      pairs[i] = diagram.bounds(rows.data()[i], static_cast<std::uint64_t>(first[i]),
                                static_cast<std::uint64_t>(second[i]),
                                static_cast<int>(shifts.data()[i]));
    }
  }
};

// A rule of partially ordered scores. The arrays are kept: the kernel reads from them.
struct PyPoset {
  FoldScores points;
  Input<std::int64_t> zeros, ones;
  abers::Poset poset;

  PyPoset(FoldScores p, Input<std::int64_t> n, Input<std::int64_t> y, bool by_flow)
      : points(std::move(p)),
        zeros(std::move(n)),
        ones(std::move(y)),
        poset(made(points, zeros, ones, by_flow)) {}

  auto bounds(FoldScores rows, Pairs out, std::size_t n_threads, bool from_all) const {
    require(rows.shape(1) == points.shape(1) && out.shape(0) == rows.shape(0),
            "scores must have as many columns as the points, and out as many rows");
    nb::gil_scoped_release release;
    const abers::Missing missing =
        poset.bounds(rows.data(), rows.shape(0), reinterpret_cast<abers::Pair*>(out.data()),
                     n_threads, from_all);
    return std::make_pair(missing.count, missing.first);
  }

 private:
  static abers::Poset made(const FoldScores& points, const Input<std::int64_t>& zeros,
                           const Input<std::int64_t>& ones, bool by_flow) {
    require(points.shape(0) > 0 && points.shape(1) > 0, "there must be a point");
    require(zeros.size() == points.shape(0) && ones.size() == points.shape(0),
            "zeros and ones must have one value for each point");
    nb::gil_scoped_release release;
    return {{points.data(), zeros.data(), ones.data(), points.shape(0), points.shape(1)},
            by_flow};
  }
};

// A changing calibration set keeps the GIL: without it, a reader could meet a writer. Where
// there is no GIL, lock_self() does the same for each call.
struct PyOnline {
  using Mass = abers::OnlineSet::Mass;
  abers::OnlineSet set;

  PyOnline(std::uint64_t window, bool increasing, std::size_t leaf_size, int newton_steps)
      : set(window, direction(increasing), abers::OnlineTree(leaf_size, newton_steps)) {}

  // Of distinct scores, ascending.
  static PyOnline of_counts(Input<double> scores, Input<std::int64_t> negatives,
                            Input<std::int64_t> positives, bool increasing) {
    PyOnline made(0, increasing, abers::OnlineTree::kLeafSize, abers::kNewtonSteps);
    std::vector<abers::OnlineTree::Key> keys;
    keys.reserve(scores.size());
    each(scores, negatives, positives,
         [&](double score, Mass m) { keys.push_back({score, made.set.exchanged(m)}); });
    made.set = {0, direction(increasing), abers::OnlineTree(keys)};
    return made;
  }

  static Mass mass(std::int64_t negatives, std::int64_t positives) {
    require(negatives >= 0 && positives >= 0 && negatives + positives > 0,
            "negatives and positives must be at least 0, and not both 0");
    return {static_cast<std::uint64_t>(negatives), static_cast<std::uint64_t>(positives)};
  }

  void add(double score, std::int64_t negatives, std::int64_t positives) {
    set.add(score, mass(negatives, positives));
  }

  bool remove(double score, std::int64_t negatives, std::int64_t positives) {
    return set.remove(score, mass(negatives, positives));
  }

  void add_many(Input<double> scores, Input<std::int64_t> negatives,
                Input<std::int64_t> positives) {
    each(scores, negatives, positives, [&](double score, Mass m) { set.add(score, m); });
  }

  void remove_many(Input<double> scores, Input<std::int64_t> negatives,
                   Input<std::int64_t> positives) {
    each(scores, negatives, positives, [&](double score, Mass m) { set.remove(score, m); });
  }

  // The first of distinct scores at which fewer are kept; their number if there is none.
  std::size_t lacking(Input<double> scores, Input<std::int64_t> negatives,
                      Input<std::int64_t> positives) const {
    std::size_t i = 0, first = scores.size();
    each(scores, negatives, positives, [&](double score, Mass m) {
      const Mass kept = set.exchanged(set.tree().at(score));
      if ((kept.n < m.n || kept.y < m.y) && first == scores.size()) first = i;
      ++i;
    });
    return first;
  }

  std::pair<double, double> bounds_of(double score) const {
    const abers::Pair pair = set.bounds(score);
    return {pair.lower, pair.upper};
  }

  void bounds(Input<double> scores, Pairs out) const {
    require(out.shape(0) == scores.size(), "out must have one row a score");
    auto* pairs = reinterpret_cast<abers::Pair*>(out.data());
    for (std::size_t i = 0; i < scores.size(); ++i) pairs[i] = set.bounds(scores.data()[i]);
  }

  // The bounds of each score by what came before it.
  void bounds_then_add(Input<double> scores, Input<std::int64_t> negatives,
                       Input<std::int64_t> positives, Pairs out) {
    require(out.shape(0) == scores.size(), "out must have one row a score");
    auto* pair = reinterpret_cast<abers::Pair*>(out.data());
    each(scores, negatives, positives, [&](double score, Mass m) {
      *pair++ = set.bounds(score);
      set.add(score, m);
    });
  }

  auto diagram() const {
    abers::Vector<double> scores;
    abers::Vector<std::int64_t> negatives, positives;
    set.tree().for_each([&](double score, Mass mass) {
      const Mass came = set.exchanged(mass);
      scores.push_back(score);
      negatives.push_back(static_cast<std::int64_t>(came.n));
      positives.push_back(static_cast<std::int64_t>(came.y));
    });
    return std::make_tuple(owned(std::move(scores)), owned(std::move(negatives)),
                           owned(std::move(positives)));
  }

  auto arrivals() {
    abers::Vector<double> scores;
    abers::Vector<std::int64_t> negatives, positives;
    for (const auto& arrival : set.arrivals()) {
      const Mass came = set.exchanged(arrival.mass());
      scores.push_back(arrival.score);
      negatives.push_back(static_cast<std::int64_t>(came.n));
      positives.push_back(static_cast<std::int64_t>(came.y));
    }
    return std::make_tuple(owned(std::move(scores)), owned(std::move(negatives)),
                           owned(std::move(positives)));
  }

  std::pair<std::uint64_t, std::uint64_t> totals() const {
    const Mass came = set.exchanged(set.tree().total());
    return {came.n, came.y};
  }

  std::size_t bytes() const { return set.tree().bytes(); }

 private:
  template <class Visit>
  static void each(const Input<double>& scores, const Input<std::int64_t>& negatives,
                   const Input<std::int64_t>& positives, Visit visit) {
    require(negatives.size() == scores.size() && positives.size() == scores.size(),
            "scores, negatives and positives must have one length");
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const Mass m = mass(negatives.data()[i], positives.data()[i]);
      visit(scores.data()[i], m);
    }
  }
};

// Like the set above, it keeps the GIL.
struct PyRanks {
  abers::Ranks ranks;

  PyRanks(Input<double> ascending, Input<std::int64_t> counts, std::size_t block_size)
      : ranks(ascending.data(), counts.data(), same_size(ascending, counts),
              at_least_one(block_size)) {}

  static std::size_t same_size(const Input<double>& scores,
                               const Input<std::int64_t>& counts) {
    require(scores.size() == counts.size(), "ascending and counts must have one length");
    return scores.size();
  }

  static std::size_t at_least_one(std::size_t size) {
    require(size > 0, "block_size must be at least 1");
    return size;
  }

  // How many of those before it lie below each score, and how many equal it.
  void rank_then_add(Input<double> scores, IntOutput below, IntOutput equal) {
    require(below.size() == scores.size() && equal.size() == scores.size(),
            "below and equal must have one place a score");
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const auto rank = ranks.rank(scores.data()[i]);
      below.data()[i] = static_cast<std::int64_t>(rank.below);
      equal.data()[i] = static_cast<std::int64_t>(rank.equal);
      ranks.add(scores.data()[i]);
    }
  }
};

double jump(Input<double> rates, FactorRows factors, WeightRows weights, double log_scale,
            Output log_capital) {
  require(weights.shape(0) == rates.size() && weights.shape(1) == factors.shape(1) &&
              log_capital.size() == factors.shape(0),
          "weights must have a row a rate and a column a bet; log_capital a place a round");
  return abers::jump(rates.data(), rates.size(), factors.shape(1), factors.data(),
                     factors.shape(0), weights.data(), log_scale, log_capital.data());
}

using PyAccount = std::tuple<double, double, double>;  // excess, reserved, allowance

PyAccount as_tuple(abers::Account account) {
  return {account.excess, account.reserved, account.allowance};
}

abers::Account from_tuple(PyAccount account) {
  const auto [excess, reserved, allowance] = account;
  return {excess, reserved, allowance};
}

PyAccount issue(Input<double> base, Output weights, PyAccount account, Output issued) {
  require(weights.size() == abers::kRates * abers::kMaps && issued.size() == base.size(),
          "weights must have a place per rate and map, issued one per row");
  return as_tuple(abers::issue(base.data(), base.size(), weights.data(),
                               from_tuple(account), issued.data()));
}

PyAccount learn(Input<double> base, Input<double> issued, Input<bool> labels,
                Output weights, PyAccount account) {
  require(weights.size() == abers::kRates * abers::kMaps && issued.size() == base.size() &&
              labels.size() == base.size(),
          "weights must have a place per rate and map, issued and labels one per row");
  return as_tuple(abers::learn(base.data(), issued.data(), labels.data(), base.size(),
                               weights.data(), from_tuple(account)));
}

PyAccount release(Input<double> base, Input<double> issued, PyAccount account) {
  require(issued.size() == base.size(), "issued must have a place per row");
  return as_tuple(
      abers::release(base.data(), issued.data(), base.size(), from_tuple(account)));
}

double reserved_for(Input<double> base, Input<double> issued) {
  require(issued.size() == base.size(), "issued must have a place per row");
  return abers::reserved_for(base.data(), issued.data(), base.size());
}

using View = nb::ndarray<nb::numpy, const double, nb::ndim<1>>;

template <Input<double> PyTable::* member>
View view(nb::handle self) {
  const auto& array = nb::cast<PyTable&>(self).*member;
  return View(array.data(), {array.size()}, self);
}

template <std::size_t side>
View side_of_pairs(nb::handle self) {
  const auto& pairs = nb::cast<PyTable&>(self).pairs;
  return View(pairs.data() + side, {pairs.shape(0)}, self, {2});
}

}  // namespace

NB_MODULE(_kernel, m) {
  m.attr("portable") = abers::kPortable;
  nb::set_leak_warnings(false);  // a rule that lives until the interpreter ends is no leak

  nb::class_<PyTable>(m, "Table")
      .def(nb::init<Input<double>, Input<double>, Input<double>, Input<double>>(),
           "thresholds"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
           "quantiles"_a.noconvert())
      .def_prop_ro("thresholds", view<&PyTable::thresholds>)
      .def_prop_ro("lower", side_of_pairs<0>)
      .def_prop_ro("upper", side_of_pairs<1>)
      .def_prop_ro("quantiles", view<&PyTable::quantiles>)
      .def_prop_ro("n_pieces", [](const PyTable& table) { return table.pairs.shape(0); })
      .def("bounds", bounds, "scores"_a.noconvert(), "out"_a.noconvert(), "n_threads"_a);

  nb::class_<PyPooled>(m, "PooledCounts")
      .def(nb::init<std::vector<Input<double>>, const std::vector<Input<std::int64_t>>&,
                    const std::vector<Input<std::int64_t>>&, std::int64_t, std::int64_t,
                    bool>(),
           "scores"_a, "negatives"_a, "positives"_a, "scale"_a, "postulate"_a,
           "increasing"_a)
      // newton_steps is for tests: 0 uses only the search whose length is bounded.
      .def("bounds", &PyPooled::bounds, "scores"_a.noconvert(), "out"_a.noconvert(),
           "n_threads"_a, "newton_steps"_a = abers::kNewtonSteps)
      .def_prop_ro("bytes", &PyPooled::bytes);

  nb::class_<PyPoset>(m, "Poset")
      // by_flow and from_all are for tests: the answers are the same.
      .def(nb::init<FoldScores, Input<std::int64_t>, Input<std::int64_t>, bool>(),
           "points"_a.noconvert(), "zeros"_a.noconvert(), "ones"_a.noconvert(),
           "by_flow"_a = false)
      .def("bounds", &PyPoset::bounds, "scores"_a.noconvert(), "out"_a.noconvert(),
           "n_threads"_a, "from_all"_a = false);

  nb::class_<PyOnline>(m, "Online")
      // leaf_size and newton_steps are for tests: the answers are the same.
      .def(nb::init<std::uint64_t, bool, std::size_t, int>(), "window"_a, "increasing"_a,
           "leaf_size"_a = abers::OnlineTree::kLeafSize,
           "newton_steps"_a = abers::kNewtonSteps)
      .def_static("of_counts", &PyOnline::of_counts, "scores"_a.noconvert(),
                  "negatives"_a.noconvert(), "positives"_a.noconvert(), "increasing"_a)
      .def("add", &PyOnline::add, "score"_a, "negatives"_a, "positives"_a, nb::lock_self())
      .def("remove", &PyOnline::remove, "score"_a, "negatives"_a, "positives"_a,
           nb::lock_self())
      .def("add_many", &PyOnline::add_many, "scores"_a.noconvert(),
           "negatives"_a.noconvert(), "positives"_a.noconvert(), nb::lock_self())
      .def("remove_many", &PyOnline::remove_many, "scores"_a.noconvert(),
           "negatives"_a.noconvert(), "positives"_a.noconvert(), nb::lock_self())
      .def("lacking", &PyOnline::lacking, "scores"_a.noconvert(), "negatives"_a.noconvert(),
           "positives"_a.noconvert(), nb::lock_self())
      .def("bounds_of", &PyOnline::bounds_of, "score"_a, nb::lock_self())
      .def("bounds", &PyOnline::bounds, "scores"_a.noconvert(), "out"_a.noconvert(),
           nb::lock_self())
      .def("bounds_then_add", &PyOnline::bounds_then_add, "scores"_a.noconvert(),
           "negatives"_a.noconvert(), "positives"_a.noconvert(), "out"_a.noconvert(),
           nb::lock_self())
      .def("diagram", &PyOnline::diagram, nb::lock_self())
      .def("arrivals", &PyOnline::arrivals, nb::lock_self())
      .def("totals", &PyOnline::totals, nb::lock_self())
      .def_prop_ro("bytes", &PyOnline::bytes, nb::lock_self());

  nb::class_<PyRanks>(m, "Ranks")
      // block_size is for tests: the answers are the same.
      .def(nb::init<Input<double>, Input<std::int64_t>, std::size_t>(),
           "ascending"_a.noconvert(), "counts"_a.noconvert(),
           "block_size"_a = abers::Ranks::kBlockSize)
      .def("rank_then_add", &PyRanks::rank_then_add, "scores"_a.noconvert(),
           "below"_a.noconvert(), "equal"_a.noconvert(), nb::lock_self());
  m.def("jump", jump, "rates"_a.noconvert(), "factors"_a.noconvert(),
        "weights"_a.noconvert(), "log_scale"_a, "log_capital"_a.noconvert());

  nb::class_<PyOwnWeight>(m, "OwnWeight")
      .def(nb::init<Input<double>, Input<std::int64_t>, Input<std::int64_t>, bool>(),
           "scores"_a.noconvert(), "negatives"_a.noconvert(), "positives"_a.noconvert(),
           "increasing"_a)
      .def("bounds", &PyOwnWeight::bounds, "scores"_a.noconvert(),
           "negatives"_a.noconvert(), "positives"_a.noconvert(), "shifts"_a.noconvert(),
           "out"_a.noconvert());
  m.def("issue", issue, "base"_a.noconvert(), "weights"_a.noconvert(), "account"_a,
        "issued"_a.noconvert());
  m.def("learn", learn, "base"_a.noconvert(), "issued"_a.noconvert(),
        "labels"_a.noconvert(), "weights"_a.noconvert(), "account"_a);
  m.def("release", release, "base"_a.noconvert(), "issued"_a.noconvert(), "account"_a);
  m.def("reserved_for", reserved_for, "base"_a.noconvert(), "issued"_a.noconvert());

  m.def("split_by_label", split_by_label<bool>, "scores"_a.noconvert(),
        "labels"_a.noconvert(), "out"_a.noconvert());
  m.def("split_by_label", split_by_label<std::int64_t>, "scores"_a.noconvert(),
        "labels"_a.noconvert(), "out"_a.noconvert());
  m.def("split_by_label", split_by_label<double>, "scores"_a.noconvert(),
        "labels"_a.noconvert(), "out"_a.noconvert());
  m.def("merge_classes", merge_classes, "zeros"_a.noconvert(), "ones"_a.noconvert());
  m.def("is_ascending", is_ascending, "scores"_a.noconvert());
  m.def("order_statistics", order_statistics, "zeros"_a.noconvert(), "ones"_a.noconvert(),
        "ranks"_a.noconvert());
  m.def("fit_classes", fit_classes, "zeros"_a.noconvert(), "ones"_a.noconvert(),
        "quantiles"_a.noconvert(), "increasing"_a);
  m.def("fit_diagram", fit_diagram, "scores"_a.noconvert(), "negatives"_a.noconvert(),
        "positives"_a.noconvert(), "quantiles"_a.noconvert(), "increasing"_a,
        "postulate"_a = 1);
  m.def("pairs_in_order", pairs_in_order, "zeros"_a.noconvert(), "ones"_a.noconvert());
  m.def("minorant", minorant, "points"_a.noconvert());
  m.def("inner_corners", inner_corners, "zeros"_a.noconvert(), "ones"_a.noconvert());
  m.def("content", content, "scores"_a.noconvert(), "negatives"_a.noconvert(),
        "positives"_a.noconvert(), "salt_zero"_a, "salt_one"_a);
  m.def("ranked", ranked, "negatives"_a.noconvert(), "positives"_a.noconvert(),
        "ranks"_a.noconvert());
  m.def("merge_runs", merge_runs, "scores"_a, "negatives"_a, "positives"_a);
  m.def("fit_part", fit_part, "scores"_a.noconvert(), "zeros"_a.noconvert(),
        "ones"_a.noconvert(), "left"_a.noconvert(), "right"_a.noconvert(), "increasing"_a,
        "postulate"_a = 1);
  m.def("merge_folds", merge_folds, "bounds"_a.noconvert(), "loss"_a, "out"_a.noconvert());
  m.def("merge_rules", merge_rules, "tables"_a, "scores"_a, "loss"_a, "out"_a.noconvert());
}
