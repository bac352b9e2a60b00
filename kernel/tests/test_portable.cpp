// The plain versions of portable.hpp against definitions, and against what the compiler has: run
// under the sanitizers.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "../geometry.hpp"
#include "../memory.hpp"
#include "../portable.hpp"

namespace {

using Plain = abers::plain::UInt128;
long checks = 0;

void require(bool holds, const char* claim) {
  ++checks;
  if (holds) return;
  std::printf("FAILED: %s\n", claim);
  std::exit(1);
}

// Edges, and random numbers of every length.
std::uint64_t number(std::mt19937_64& engine) {
  constexpr std::uint64_t kLast = ~std::uint64_t{0};
  const std::uint64_t edges[] = {0,         1,     0xFFFFFFFFu, 0x100000000u, kLast >> 1,
                                 kLast - 1, kLast, kLast << 32, 1ull << 53};
  const std::uint64_t random = engine();
  return random % 4 == 0 ? edges[random / 4 % 9] : random >> engine() % 64;
}

// The bits of a product, one of them at a time: what multiplication is.
Plain product_by_bits(std::uint64_t a, std::uint64_t b) {
  Plain sum = 0, shifted = a;
  for (; b != 0; b >>= 1) {
    if (b & 1) sum = sum + shifted;
    shifted = shifted + shifted;
  }
  return sum;
}

template <class Wide>
std::uint64_t half(Wide x, int which) {
  return static_cast<std::uint64_t>(x >> 64 * which);
}

template <class Wide>
void check_equal(Wide native, Plain plain, const char* claim) {
  require(half(native, 0) == half(plain, 0) && half(native, 1) == half(plain, 1), claim);
}

void check_wide(std::mt19937_64& engine) {
  const std::uint64_t a = number(engine), b = number(engine), c = number(engine),
                      d = number(engine);
  require(Plain(a) * b == product_by_bits(a, b), "a product is that of its bits");
  // The compiler's own integers, unless this is the plain build.
  using Native = abers::UInt128;
  const Native x = (Native(a) << 64) + b, y = (Native(c) << 64) + d;
  const Plain p = (Plain(a) << 64) + b, q = (Plain(c) << 64) + d;
  check_equal(x, p, "numbers are put together alike");
  check_equal(x + y, p + q, "sums agree");
  check_equal(x - y, p - q, "differences agree");
  check_equal(x * y, p * q, "products agree");
  require((x < y) == (p < q) && (x > y) == (p > q) && (x <= y) == (p <= q) &&
              (x >= y) == (p >= q) && (x == y) == (p == q) && (x != y) == (p != q),
          "comparisons agree");
  require(p - q + q == p && !(p < p) && p <= p && p == p, "order and sums are sound");
  for (int by = 0; by < 128; by += 1 + static_cast<int>(engine() % 9)) {
    check_equal(x << by, p << by, "shifts to the left agree");
    check_equal(x >> by, p >> by, "shifts to the right agree");
  }
}

void check_bits(std::mt19937_64& engine) {
  const std::uint64_t bits = number(engine);
  int ones = 0;
  for (int i = 0; i < 64; ++i) ones += static_cast<int>(bits >> i & 1);
  require(abers::plain::ones_of(bits) == ones && abers::ones_of(bits) == ones,
          "bits are counted");
  if (bits == 0) return;
  int zeros = 0;
  while ((bits >> zeros & 1) == 0) ++zeros;
  require(
      abers::plain::trailing_zeros(bits) == zeros && abers::trailing_zeros(bits) == zeros,
      "zeros below the lowest bit are counted");
  int above = 0;
  while ((bits << above >> 63) == 0) ++above;
  require(abers::plain::leading_zeros(bits) == above && abers::leading_zeros(bits) == above,
          "zeros above the highest bit are counted");
}

// What products of 128 bits are for: slopes that differ in their last bit alone.
void check_slopes(std::mt19937_64& engine) {
  using Step = abers::Step<std::uint64_t>;
  const std::uint64_t n = (1ull << 52) - engine() % 1000, y = n - 1 - engine() % 1000;
  require(abers::steeper(Step{n, y + 1}, Step{n, y}), "one more is steeper");
  require(!abers::steeper(Step{n, y}, Step{n, y}), "no slope is steeper than itself");
  require(abers::steeper(Step{n - 1, y}, Step{n, y}), "one less below is steeper");
  require(abers::steeper(Step{n, y}, Step{n - 1, y - 1}), "ratios are exact");
}

void check_memory(std::size_t bytes) {
  auto* memory = static_cast<char*>(abers::large_memory(bytes));
  require(memory != nullptr, "there is memory");
  require(reinterpret_cast<std::uintptr_t>(memory) % alignof(std::max_align_t) == 0,
          "it is aligned");
  std::memset(memory, 1, bytes);  // all of it is ours, or a sanitizer speaks up
  abers::prefetch(memory + bytes / 2);
  std::free(memory);
  abers::Vector<double> numbers(bytes / sizeof(double), 0.5);
  require(numbers.back() == 0.5, "a large vector holds what it is filled with");
}

}  // namespace

int main() {
  static_assert(Plain(3) * 5 == Plain(15), "the compiler can compute it");
  std::mt19937_64 engine{20151116};
  for (int i = 0; i < 100000; ++i) check_wide(engine);
  for (int i = 0; i < 100000; ++i) check_bits(engine);
  for (int i = 0; i < 10000; ++i) check_slopes(engine);
  for (const std::size_t bytes : {1u << 21, (1u << 22) - 8, 1u << 22, (1u << 24) + 24}) {
    check_memory(bytes);
  }
  require(abers::likely(true) && !abers::likely(false), "a hint changes nothing");
  std::printf("portable: %s versions, %ld checks\n1 passed, 0 failed\n",
              abers::kPortable ? "plain" : "the compiler's and the plain", checks);
}
