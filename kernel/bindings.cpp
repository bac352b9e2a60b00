// Python's view of the kernel: types, ownership and the GIL, nothing else.
//
// Arrays must be contiguous and of the named type; nothing is converted here
// (abers.validation does that, visibly). The kernel never calls Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "diagram.hpp"
#include "fit.hpp"
#include "lookup.hpp"
#include "merging.hpp"
#include "weighted.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <class T>
using Input = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<double, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using FoldPairs =
    nb::ndarray<const double, nb::shape<-1, -1, 2>, nb::c_contig, nb::device::cpu>;

template <class T>
using Array = nb::ndarray<nb::numpy, T, nb::ndim<1>, nb::c_contig>;

template <class T>
Array<T> owned(std::vector<T>&& values) {
  auto* heap = new std::vector<T>(std::move(values));
  nb::capsule owner(heap, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Array<T>(heap->data(), {heap->size()}, owner);
}

// The arrays of a rule, read-only for everyone: Python gets views whose base is this
// object, which exports no writable buffer.
struct PyTable {
  Input<double> thresholds, lower, upper;

  PyTable(Input<double> t, Input<double> l, Input<double> u)
      : thresholds(std::move(t)), lower(std::move(l)), upper(std::move(u)) {
    if (lower.size() != thresholds.size() + 1 || upper.size() != lower.size()) {
      throw nb::value_error("lower and upper must have one value more than thresholds");
    }
  }

  abers::RuleView view() const {
    return {thresholds.data(), thresholds.size(), lower.data(), upper.data()};
  }
};

Input<double> adopt(std::vector<double>&& values) {
  return nb::cast<Input<double>>(nb::cast(owned(std::move(values))));
}

PyTable adopt(abers::Table&& table) {
  return {adopt(std::move(table.thresholds)), adopt(std::move(table.lower)),
          adopt(std::move(table.upper))};
}

abers::Direction direction(bool increasing) {
  return increasing ? abers::Direction::increasing : abers::Direction::decreasing;
}

abers::Classes classes(const Input<double>& zeros, const Input<double>& ones) {
  return {zeros.data(), zeros.size(), ones.data(), ones.size()};
}

template <class Label>
auto split_by_label(Input<double> scores, Input<Label> labels, Output out) {
  abers::Split found;
  {
    nb::gil_scoped_release release;
    found = abers::split_by_label(scores.data(), labels.data(), scores.size(), out.data());
  }
  return std::make_tuple(found.zeros, found.missing_scores, found.first_missing_score,
                         found.bad_labels, found.first_bad_label);
}

auto merge_classes(Input<double> zeros, Input<double> ones) {
  std::vector<double> scores;
  std::vector<std::int64_t> negatives, positives;
  {
    nb::gil_scoped_release release;
    abers::for_each_distinct(classes(zeros, ones),
                             [&](double s, std::size_t n, std::size_t y) {
                               scores.push_back(s);
                               negatives.push_back(static_cast<std::int64_t>(n));
                               positives.push_back(static_cast<std::int64_t>(y));
                             });
  }
  return std::make_tuple(owned(std::move(scores)), owned(std::move(negatives)),
                         owned(std::move(positives)));
}

auto order_statistics(Input<double> zeros, Input<double> ones, Input<std::int64_t> ranks) {
  std::vector<double> found(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    found[i] = abers::order_statistic(classes(zeros, ones),
                                      static_cast<std::size_t>(ranks.data()[i]));
  }
  return owned(std::move(found));
}

PyTable fit_classes(Input<double> zeros, Input<double> ones, bool increasing) {
  abers::Table table;
  {
    nb::gil_scoped_release release;
    const auto& first = increasing ? zeros : ones;
    const auto& second = increasing ? ones : zeros;
    table = abers::fit_classes(classes(first, second), direction(increasing));
  }
  return adopt(std::move(table));
}

// Counts are exact, weights are real: the type of the masses picks the path.
abers::Table fit(const double* scores, const std::int64_t* first,
                 const std::int64_t* second, std::size_t size, bool increasing) {
  return abers::fit_counts(scores, first, second, size, direction(increasing));
}

abers::Table fit(const double* scores, const double* first, const double* second,
                 std::size_t size, bool increasing) {
  return abers::fit_weights(abers::DiagramKeys{scores}, first, second, size,
                            direction(increasing));
}

template <class Mass>
PyTable fit_diagram(Input<double> scores, Input<Mass> negatives, Input<Mass> positives,
                    bool increasing) {
  abers::Table table;
  {
    nb::gil_scoped_release release;
    const auto& first = increasing ? negatives : positives;
    const auto& second = increasing ? positives : negatives;
    table = fit(scores.data(), first.data(), second.data(), scores.size(), increasing);
  }
  return adopt(std::move(table));
}

auto bounds(const PyTable& table, Input<double> scores, Pairs out) {
  nb::gil_scoped_release release;
  const abers::Missing missing =
      abers::bounds(table.view(), scores.data(), scores.size(), out.data());
  return std::make_pair(missing.count, missing.first);
}

void merge_log_minimax(FoldPairs pairs, Output out) {
  nb::gil_scoped_release release;
  abers::merge_log_minimax(pairs.data(), pairs.shape(0), pairs.shape(1), out.data());
}

template <Input<double> PyTable::* member>
Array<const double> view(nb::handle self) {
  const auto& array = nb::cast<PyTable&>(self).*member;
  return Array<const double>(array.data(), {array.size()}, self);
}

}  // namespace

NB_MODULE(_kernel, m) {
  nb::class_<PyTable>(m, "Table")
      .def(nb::init<Input<double>, Input<double>, Input<double>>(),
           "thresholds"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert())
      .def_prop_ro("thresholds", view<&PyTable::thresholds>)
      .def_prop_ro("lower", view<&PyTable::lower>)
      .def_prop_ro("upper", view<&PyTable::upper>)
      .def("bounds", bounds, "scores"_a.noconvert(), "out"_a.noconvert());

  m.def("split_by_label", split_by_label<bool>, "scores"_a.noconvert(),
        "labels"_a.noconvert(), "out"_a.noconvert());
  m.def("split_by_label", split_by_label<std::int64_t>, "scores"_a.noconvert(),
        "labels"_a.noconvert(), "out"_a.noconvert());
  m.def("split_by_label", split_by_label<double>, "scores"_a.noconvert(),
        "labels"_a.noconvert(), "out"_a.noconvert());
  m.def("merge_classes", merge_classes, "zeros"_a.noconvert(), "ones"_a.noconvert());
  m.def("order_statistics", order_statistics, "zeros"_a.noconvert(), "ones"_a.noconvert(),
        "ranks"_a.noconvert());
  m.def("fit_classes", fit_classes, "zeros"_a.noconvert(), "ones"_a.noconvert(),
        "increasing"_a);
  m.def("fit_diagram", fit_diagram<std::int64_t>, "scores"_a.noconvert(),
        "negatives"_a.noconvert(), "positives"_a.noconvert(), "increasing"_a);
  m.def("fit_diagram", fit_diagram<double>, "scores"_a.noconvert(),
        "negatives"_a.noconvert(), "positives"_a.noconvert(), "increasing"_a);
  m.def("merge_log_minimax", merge_log_minimax, "bounds"_a.noconvert(),
        "out"_a.noconvert());
}
