// What compilers and systems offer beyond C++17, each with a plain version.
//
// Input:   values of any kind; prefetch() takes any pointer, also one outside of an array.
// Memory:  large_memory() belongs to the caller, who frees it with std::free.
// Failure: large_memory() answers nullptr if there is none.
// Cost:    128-bit products by hand take four multiplications in place of one.
//
// No other file of the kernel uses a compiler's own keywords (tests/test_portability.py). GCC and
// Clang take the short way; a compiler without it, such as MSVC, takes the plain one, and so does
// any compiler that defines ABERS_PORTABLE. Both give the same bits. The plain versions are always
// compiled, so that kernel/tests/test_portable.cpp can hold one against the other. The word
// __restrict needs nothing here: all three compilers know it.
#pragma once

#include <cfloat>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#if defined(__GNUC__) && !defined(ABERS_PORTABLE)
#define ABERS_GNU
#endif

#if defined(ABERS_GNU) && defined(__linux__)
#define ABERS_HUGE_PAGES
#include <sys/mman.h>
#endif

namespace abers {

// Equal bits on every machine need doubles that are rounded after each operation. Compilers that
// fuse a product with a sum must be told not to: CMakeLists.txt does.
static_assert(std::numeric_limits<double>::is_iec559, "abers needs IEEE 754 doubles");
static_assert(sizeof(std::size_t) == 8, "abers needs a 64-bit system");
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "abers needs doubles without excess precision: compile for SSE2, or for 64 bits"
#endif
#ifdef __FAST_MATH__
#error "abers must not be compiled with -ffast-math: its results would not be exact"
#endif

namespace plain {

// An integer of 128 bits without a sign; arithmetic is modulo 2^128.
class UInt128 {
 public:
  UInt128() = default;
  constexpr UInt128(std::uint64_t low) : high_(0), low_(low) {}  // as integers convert

  friend constexpr UInt128 operator+(UInt128 a, UInt128 b) {
    const std::uint64_t low = a.low_ + b.low_;
    return {a.high_ + b.high_ + (low < a.low_ ? 1u : 0u), low};
  }
  friend constexpr UInt128 operator-(UInt128 a, UInt128 b) {
    return {a.high_ - b.high_ - (a.low_ < b.low_ ? 1u : 0u), a.low_ - b.low_};
  }
  friend constexpr UInt128 operator*(UInt128 a, UInt128 b) {
    const UInt128 low = product(a.low_, b.low_);
    return {low.high_ + a.high_ * b.low_ + a.low_ * b.high_, low.low_};
  }

  friend constexpr bool operator==(UInt128 a, UInt128 b) {
    return a.high_ == b.high_ && a.low_ == b.low_;
  }
  friend constexpr bool operator<(UInt128 a, UInt128 b) {
    return a.high_ != b.high_ ? a.high_ < b.high_ : a.low_ < b.low_;
  }
  friend constexpr bool operator!=(UInt128 a, UInt128 b) { return !(a == b); }
  friend constexpr bool operator>(UInt128 a, UInt128 b) { return b < a; }
  friend constexpr bool operator<=(UInt128 a, UInt128 b) { return !(b < a); }
  friend constexpr bool operator>=(UInt128 a, UInt128 b) { return !(a < b); }

  // Shifts by 0 to 127, as of the compiler's own type.
  friend constexpr UInt128 operator>>(UInt128 a, int by) {
    if (by == 0) return a;
    if (by >= 64) return {0, a.high_ >> (by - 64)};
    return {a.high_ >> by, a.low_ >> by | a.high_ << (64 - by)};
  }
  friend constexpr UInt128 operator<<(UInt128 a, int by) {
    if (by == 0) return a;
    if (by >= 64) return {a.low_ << (by - 64), 0};
    return {a.high_ << by | a.low_ >> (64 - by), a.low_ << by};
  }

  explicit constexpr operator std::uint64_t() const { return low_; }

 private:
  constexpr UInt128(std::uint64_t high, std::uint64_t low) : high_(high), low_(low) {}

  // By halves, as on paper: no sum here exceeds 64 bits.
  static constexpr UInt128 product(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t kHalf = 0xFFFFFFFFu;
    const std::uint64_t a0 = a & kHalf, a1 = a >> 32, b0 = b & kHalf, b1 = b >> 32;
    const std::uint64_t low = a0 * b0;
    const std::uint64_t one = a1 * b0 + (low >> 32);
    const std::uint64_t two = a0 * b1 + (one & kHalf);
    return {a1 * b1 + (one >> 32) + (two >> 32), two << 32 | (low & kHalf)};
  }

  std::uint64_t high_, low_;
};

constexpr int ones_of(std::uint64_t bits) {
  int count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

constexpr int trailing_zeros(std::uint64_t bits) { return ones_of(~bits & (bits - 1)); }

constexpr int leading_zeros(std::uint64_t bits) {
  for (int by = 1; by < 64; by *= 2) bits |= bits >> by;
  return 64 - ones_of(bits);
}

inline void* large_memory(std::size_t bytes) { return std::malloc(bytes); }

}  // namespace plain

#if defined(ABERS_GNU) && defined(__SIZEOF_INT128__)
__extension__ typedef unsigned __int128 UInt128;
#else
using UInt128 = plain::UInt128;
#endif

// Bits that are 1, and the zeros below the lowest and above the highest of them, which there
// must be.
constexpr int ones_of(std::uint64_t bits) {
#ifdef ABERS_GNU
  return __builtin_popcountll(bits);
#else
  return plain::ones_of(bits);
#endif
}

constexpr int trailing_zeros(std::uint64_t bits) {
#ifdef ABERS_GNU
  return __builtin_ctzll(bits);
#else
  return plain::trailing_zeros(bits);
#endif
}

constexpr int leading_zeros(std::uint64_t bits) {
#ifdef ABERS_GNU
  return __builtin_clzll(bits);
#else
  return plain::leading_zeros(bits);
#endif
}

// Hint which way a branch usually goes.
constexpr bool likely(bool condition) {
#ifdef ABERS_GNU
  return __builtin_expect(condition, 1);
#else
  return condition;
#endif
}

// Ask for memory that will be read soon; a hint, which may be dropped.
inline void prefetch(const void* place) {
#ifdef ABERS_GNU
  __builtin_prefetch(place);
#else
  static_cast<void>(place);
#endif
}

// Memory for arrays of megabytes: in huge pages, if Linux grants them.
constexpr std::size_t kHugePage = std::size_t{1} << 21;

inline void* large_memory(std::size_t bytes) {
#ifdef ABERS_HUGE_PAGES
  bytes = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* memory = std::aligned_alloc(kHugePage, bytes);
  if (memory != nullptr) madvise(memory, bytes, MADV_HUGEPAGE);  // Linux may decline
  return memory;
#else
  return plain::large_memory(bytes);
#endif
}

// Is everything here the plain version? Tests need to know what they have tested.
#ifdef ABERS_GNU
constexpr bool kPortable = false;
#else
constexpr bool kPortable = true;
#endif

}  // namespace abers
