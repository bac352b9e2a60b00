// Isotonic regression on partially ordered points, read at a test object of label 0 and 1.
//
// Input:   distinct points of d >= 1 columns without NaN, sorted, with one kind of zero, and the
//          counts of label 0 and label 1 at each, not both 0, below 2^32 - 1 in total; rows of
//          d scores that may be NaN.
// Memory:  the caller owns points and output, and keeps the points as long as the rule lives;
//          the rule owns some 40 bytes per point, and what its order needs (upper_sweep.hpp for
//          one or two columns, upper_flow.hpp for more).
// Failure: std::bad_alloc; rows with a NaN get NaN bounds and are counted.
// Cost:    a few best upper sets of all points to make. A row takes O(k d) to be compared, and
//          then a few best upper sets of the points whose value is near its own.
//
// p <= q if no coordinate of p exceeds that of q. With t = Y / W for the W observations of some
// points, Y of them labelled 1, a point with n zeros and y ones has the excess y - t (n + y), or
// in integers y (W - Y) - n Y, which never leaves 62 bits: the sum of the positive ones is at
// most the product of all ones and all zeros.
//
// *Partition.* Let U be an upper set whose excess at t is the largest there is, of a set S, for
// any t. Then the regression g of S is at least t on U and at most t elsewhere, and on either
// part it is the regression of that part alone. (Regress both parts alone. If the upper one had
// a value below t, those below t would be a lower set of U with a negative excess, which U had
// better leave out; if the lower one had a value above t, U had better take it. So the two fit
// together isotonically, and no isotonic function is closer on either part.) If t is the average
// of S and no upper set has a positive excess, no lower set has a negative one, and g is t on all
// of S. So the value at a point is found by going on with the part that holds it: from t to the
// average of that part, until it does not split. The one division comes last.
//
// *Levels.* The regression of the calibration points alone, made once, has levels 0, 1, ... of
// ascending values t_0 < t_1 < ... Let U_a be all points of level a and above, and let x be a
// test object of label 1 (for label 0 everything is mirrored).
//   1. If all points on or above x have level a or higher, U_a with x is an upper set of largest
//      excess at t_a: any other without x had no more than U_a before, and x adds 1 - t_a >= 0 at
//      most. So x's part is within U_a and x, for the largest such a.
//   2. Some best upper set with x, at t_b, holds all of U_b. Let B be the largest best one and A
//      be U_b. What A has outside B has no negative excess, or A had better be without it. So
//      B with A, and with x if it must, is an upper set of no less excess, hence B itself.
// So at t_b, with b > a, it remains to choose among the points of levels a, ..., b - 1 and x: a
// slice. If the best upper set V of the slice does not hold x, x's part is within the slice
// outside V; else it is within V and U_b, and the next slice is V with more levels. The slices
// double, so that the work is that of the last one: some points whose values are close to x's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "geometry.hpp"
#include "lookup.hpp"
#include "rule.hpp"
#include "upper_flow.hpp"
#include "upper_sweep.hpp"

namespace abers {

using Count = Step<std::int64_t>;

struct CountedPoints {  // in arrays that are owned elsewhere
  const double* points;
  const std::int64_t* zeros;
  const std::int64_t* ones;
  std::size_t size, columns;
};

// The regression of the calibration points alone.
struct Levels {
  std::vector<Count> counts;            // of each level
  std::vector<std::uint32_t> level_of;  // of each point
  std::vector<std::size_t> starts;      // of each level among the members
  std::vector<std::uint32_t> members;   // points, level by level
};

// One thread's way to values; Best is a Sweep or a Flow.
template <class Best>
class Partition {
 public:
  template <class Order>
  Partition(const CountedPoints& data, const Order& order) : data_(data), best_(order) {}

  // All points, without a test object, split until nothing splits.
  Levels levels() {
    Levels found;
    found.level_of.resize(data_.size);
    std::vector<Places> waiting(1);
    for (std::uint32_t i = 0; i < data_.size; ++i) waiting[0].push_back(2 * i + 1);
    while (!waiting.empty()) {  // the lowest part comes last
      part_ = std::move(waiting.back());
      waiting.pop_back();
      const Count total = counted();
      if (is_split_at(total)) {
        waiting.push_back(side(true));
        waiting.push_back(side(false));
        continue;
      }
      found.starts.push_back(found.members.size());
      for (const std::uint32_t place : part_) {
        found.level_of[place / 2] = static_cast<std::uint32_t>(found.counts.size());
        found.members.push_back(place / 2);
      }
      found.counts.push_back(total);
    }
    found.starts.push_back(found.members.size());
    return found;
  }

  // Say where the test object stands: at the place of an equal point, or an even one.
  void place_test(const double* row, std::uint32_t place) {
    best_.place_test(row);
    test_ = place;
  }

  // The observations whose average is the value at the test object, of label 0 or 1; `near` is
  // the level from which to start, or past the end if there is none.
  Count value(int label, std::int64_t near, const Levels& levels) {
    added_ = {1 - label, label};
    part_.clear();
    if (test_ % 2 == 0) part_.push_back(test_);
    const std::int64_t step = label == 1 ? 1 : -1;
    const auto count = static_cast<std::int64_t>(levels.counts.size());
    const auto remain = [&] { return near >= 0 && near < count; };
    while (remain()) {
      const std::size_t wanted = std::max(kSmallestSlice, 2 * part_.size());
      for (; remain() && part_.size() < wanted; near += step) {
        const auto level = static_cast<std::size_t>(near);
        for (std::size_t m = levels.starts[level]; m < levels.starts[level + 1]; ++m) {
          part_.push_back(2 * levels.members[m] + 1);
        }
      }
      std::sort(part_.begin(), part_.end());
      if (!remain()) break;
      const bool is_above = keep_test_side(levels.counts[static_cast<std::size_t>(near)]);
      if (is_above != (label == 1)) break;
    }
    return settled();
  }

  // The same from all points at once: slow, and simple.
  Count value_from_all(int label) {
    added_ = {1 - label, label};
    part_.clear();
    for (std::uint32_t i = 0; i < data_.size; ++i) part_.push_back(2 * i + 1);
    if (test_ % 2 == 0) {
      part_.insert(std::lower_bound(part_.begin(), part_.end(), test_), test_);
    }
    return settled();
  }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::size_t kSmallestSlice = 32;

  Count count_at(std::uint32_t place) const {
    Count count{0, 0};
    if (place % 2 == 1) count = {data_.zeros[place / 2], data_.ones[place / 2]};
    return place == test_ ? count + added_ : count;
  }

  Count counted() const {
    Count total{0, 0};
    for (const std::uint32_t place : part_) total = total + count_at(place);
    return total;
  }

  bool is_split_at(Count t) {
    excesses_.clear();
    for (const std::uint32_t place : part_) {
      const Count c = count_at(place);
      excesses_.push_back(c.y * t.n - c.n * t.y);
    }
    return best_.best(part_, excesses_, is_above_);
  }

  Places side(bool above) const {
    Places chosen;
    for (std::size_t i = 0; i < part_.size(); ++i) {
      if ((is_above_[i] != 0) == above) chosen.push_back(part_[i]);
    }
    return chosen;
  }

  // Split at t and go on with the side of the test object; tell whether it is the upper one.
  bool keep_test_side(Count t) {
    if (!is_split_at(t)) return false;
    const auto at = std::lower_bound(part_.begin(), part_.end(), test_) - part_.begin();
    const bool is_above = is_above_[static_cast<std::size_t>(at)] != 0;
    part_ = side(is_above);
    return is_above;
  }

  Count settled() {
    for (;;) {
      const Count total = counted();
      const std::size_t before = part_.size();
      keep_test_side(total);
      if (part_.size() == before) return total;
    }
  }

  CountedPoints data_;
  Best best_;
  std::uint32_t test_ = kNone;
  Count added_{0, 0};  // to the counts at the place of the test object
  Places part_;
  Excesses excesses_;
  std::vector<char> is_above_;
};

class Poset {
 public:
  // `by_flow` is for tests: two columns can do with the sweep.
  Poset(const CountedPoints& data, bool by_flow) : data_(data) {
    if (by_flow || data.columns > 2) {
      covers_.emplace(data.points, data.size, data.columns);
      levels_ = Partition<Flow>(data_, *covers_).levels();
    } else {
      plane_.emplace(data.points, data.size, data.columns);
      levels_ = Partition<Sweep>(data_, *plane_).levels();
    }
  }

  const Levels& levels() const { return levels_; }

  // `from_all` is for tests: start from all points, not from the levels near the row.
  Missing bounds(const double* rows, std::size_t n_rows, Pair* out, std::size_t n_threads,
                 bool from_all = false) const {
    constexpr std::size_t kSmallestShare = 8;
    return shared_by_threads(n_threads, n_rows, kSmallestShare,
                             [&](std::size_t from, std::size_t to) {
                               const double* first = rows + from * data_.columns;
                               if (covers_) {
                                 return read(Partition<Flow>(data_, *covers_), first,
                                             to - from, out + from, from_all);
                               }
                               return read(Partition<Sweep>(data_, *plane_), first,
                                           to - from, out + from, from_all);
                             });
  }

 private:
  template <class Ways>
  Missing read(Ways ways, const double* rows, std::size_t n_rows, Pair* out,
               bool from_all) const {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    Missing missing;
    for (std::size_t r = 0; r < n_rows; ++r) {
      const double* row = rows + r * data_.columns;
      if (std::any_of(row, row + data_.columns, [](double s) { return s != s; })) {
        if (missing.count++ == 0) missing.first = r;
        out[r] = {nan, nan};
        continue;
      }
      const auto [below, above] = levels_around(row);
      ways.place_test(row, place_of(row));
      if (from_all) {
        out[r] = {slope(ways.value_from_all(0)), slope(ways.value_from_all(1))};
      } else {
        out[r] = {slope(ways.value(0, below, levels_)),
                  slope(ways.value(1, above, levels_))};
      }
    }
    return missing;
  }

  // The highest level on or below a row and the lowest on or above it; -1 and the number of
  // levels if there is none.
  std::pair<std::int64_t, std::int64_t> levels_around(const double* row) const {
    std::int64_t below = -1, above = static_cast<std::int64_t>(levels_.counts.size());
    for (std::size_t i = 0; i < data_.size; ++i) {
      const Comparison found =
          compared(row, data_.points + i * data_.columns, data_.columns);
      const std::int64_t level = levels_.level_of[i];
      if ((found & kTestAbove) != 0) below = std::max(below, level);
      if ((found & kTestBelow) != 0) above = std::min(above, level);
    }
    return {below, above};
  }

  // That of the point that equals the row, or an even one between points.
  std::uint32_t place_of(const double* row) const {
    const auto point = [&](std::size_t i) { return data_.points + i * data_.columns; };
    std::size_t low = 0, high = data_.size;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      const bool before = std::lexicographical_compare(
          point(middle), point(middle) + data_.columns, row, row + data_.columns);
      (before ? low : high) = before ? middle + 1 : middle;
    }
    const bool is_tied =
        low < data_.size && std::equal(row, row + data_.columns, point(low));
    return static_cast<std::uint32_t>(2 * low + (is_tied ? 1 : 0));
  }

  CountedPoints data_;
  Levels levels_;
  std::optional<PlaneOrder> plane_;
  std::optional<CoverOrder> covers_;
};

}  // namespace abers
