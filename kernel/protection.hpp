// Protected probabilities: a mixture of maps of a base probability, and an account in bits.
//
// Input:   probabilities in [0, 1]; weights >= 0, one row of kMaps for each of kRates.
// Memory:  the caller's; weights are changed in place.
// Failure: none.
// Cost:    an exponential for each row and map, a few operations for each row, rate and map.
//
// The mixture q has weights that follow the losses of the maps, and jump between them. The account
// keeps the total log loss within one bit of the base's, whatever the weights are: `excess` is what
// the rows whose labels came have cost beyond the base, `reserved` what the rows that wait can cost
// at worst. Their sum stays at most 1, because no row may reserve more than the `allowance`, which
// is at most what is left.
//
// How much to risk: a capital of 2^allowance is one unit that must never be lost, and the rest is
// free. The issued o = p + (1 - 2^-allowance) (q - p) puts the one unit on p and the rest on q. So
// if the worst label comes, the free part shrinks by q(y) / p(y), as it should; it never vanishes.
// Where no labels wait, this is the mixture of base and maps with weights 1/2 each. (To let each
// row risk a fixed share of what is left would be ruinous: where positives are rare and labels late,
// the losses between two of them exceed the gain of one.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace abers {

// Maps alpha + beta x of log-odds x; the first is the identity.
constexpr double kOffsets[] = {0, 0.5, -0.5, 1, -1};  // alpha
constexpr double kSlopes[] = {1, 0.5, 2};             // beta
constexpr std::size_t kMaps = 15;
constexpr double kJumps[] = {1e-2, 1e-3, 1e-4};  // share of the weight that moves at a row
constexpr std::size_t kRates = 3;
constexpr double kNatsPerBit = 0.69314718055994530942;
// In a long calm stream the free capital shrinks exponentially; what is left after a while could
// no longer follow a change. So the allowance has a floor, paid from what `kSetAside` keeps back
// at the start: enough for more than 10^10 rows.
constexpr double kSmallestAllowance = 1e-12;
constexpr double kSetAside = 1e-6;

struct Account {
  double excess;  // all in bits
  double reserved;
  double allowance;
};

inline double sigmoid(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }

inline double log_odds_of(double p) { return std::log(p) - std::log1p(-p); }

inline double mapped(std::size_t map, double log_odds) {
  return kOffsets[map / 3] + kSlopes[map % 3] * log_odds;
}

// The most that `issued` can cost beyond `p`; 0 if they are equal.
inline double worst_excess(double p, double issued) {
  if (issued == p) return 0;
  return issued > p ? std::log2((1 - p) / (1 - issued)) : std::log2(p / issued);
}

inline void limit_allowance(Account& account) {
  const double left = std::max(0.0, 1 - account.excess - account.reserved);
  account.allowance = std::min(std::max(account.allowance, kSmallestAllowance), left);
}

inline void move_weights(double* weights) {
  for (std::size_t r = 0; r < kRates; ++r) {
    double* weight = weights + r * kMaps;
    double all = 0;
    for (std::size_t k = 0; k < kMaps; ++k) all += weight[k];
    const double moved = kJumps[r] * all / static_cast<double>(kMaps);
    for (std::size_t k = 0; k < kMaps; ++k) {
      weight[k] = (1 - kJumps[r]) * weight[k] + moved;
    }
  }
}

inline double mixed(double p, const double* weights) {
  const double log_odds = log_odds_of(p);
  double all = 0, sum = 0;
  for (std::size_t k = 0; k < kMaps; ++k) {
    double weight = 0;
    for (std::size_t r = 0; r < kRates; ++r) weight += weights[r * kMaps + k];
    all += weight;
    sum += weight * sigmoid(mapped(k, log_odds));
  }
  return sum / all;
}

// Issues a probability for each of `p`, in order; returns the account after that.
inline Account issue(const double* p, std::size_t n_rows, double* weights, Account account,
                     double* issued) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    issued[i] = p[i];
    if (!(p[i] > 0 && p[i] < 1)) continue;  // certain: every map gives the same
    move_weights(weights);
    const double free_share = -std::expm1(-account.allowance * kNatsPerBit);
    const double o = p[i] + free_share * (mixed(p[i], weights) - p[i]);
    const double worst = worst_excess(p[i], o);
    // Next to 0 and 1, doubles may be too coarse for the allowance. The base needs none.
    if (!(worst <= account.allowance)) continue;
    issued[i] = o;
    account.reserved += worst;
    account.allowance -= worst;
    limit_allowance(account);
  }
  return account;
}

// Takes rows off the account that will have no labels; returns it.
inline Account release(const double* p, const double* issued, std::size_t n_rows,
                       Account account) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    const double worst = worst_excess(p[i], issued[i]);
    account.reserved = std::max(0.0, account.reserved - worst);
    account.allowance += worst;
  }
  limit_allowance(account);
  return account;
}

// Learns labels in the order in which they come; returns the account after that.
inline Account learn(const double* p, const double* issued, const bool* labels,
                     std::size_t n_rows, double* weights, Account account) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    if (!(p[i] > 0 && p[i] < 1)) continue;
    const double base = labels[i] ? p[i] : 1 - p[i];
    const double cost = std::log2(base / (labels[i] ? issued[i] : 1 - issued[i]));
    account.excess += cost;
    account.allowance -= cost;
    account = release(p + i, issued + i, 1, account);
    const double log_odds = log_odds_of(p[i]);
    double total = 0;
    for (std::size_t k = 0; k < kMaps; ++k) {
      const double towards_one = mapped(k, log_odds);
      const double factor = sigmoid(labels[i] ? towards_one : -towards_one) / base;
      for (std::size_t r = 0; r < kRates; ++r) total += weights[r * kMaps + k] *= factor;
    }
    for (std::size_t j = 0; j < kRates * kMaps; ++j) weights[j] /= total;
  }
  return account;
}

// Returns the bits that rows reserve.
inline double reserved_for(const double* p, const double* issued, std::size_t n_rows) {
  double sum = 0;
  for (std::size_t i = 0; i < n_rows; ++i) sum += worst_excess(p[i], issued[i]);
  return sum;
}

}  // namespace abers
