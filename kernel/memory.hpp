// Vectors whose memory, once large, comes in huge pages.
//
// Input:   none.
// Memory:  std::vector semantics; freed by the vector.
// Failure: std::bad_alloc.
// Cost:    a fit that makes some ten megabytes of points and pieces spends a quarter of its
//          time on page faults without this (measured: rare events, 10^6 scores).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "portable.hpp"

namespace abers {

template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T);
    void* memory = bytes >= 2 * kHugePage ? large_memory(bytes) : std::malloc(bytes);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }

  void deallocate(T* memory, std::size_t) { std::free(memory); }

  template <class U>
  bool operator==(const HugePages<U>&) const {
    return true;
  }
  template <class U>
  bool operator!=(const HugePages<U>&) const {
    return false;
  }
};

template <class T>
using Vector = std::vector<T, HugePages<T>>;

// The same, for numbers that are all written after a resize: it need not fill them first.
template <class T>
struct Unfilled : HugePages<T> {
  using value_type = T;
  template <class U>
  struct rebind {
    using other = Unfilled<U>;
  };

  Unfilled() = default;
  template <class U>
  Unfilled(const Unfilled<U>&) {}

  template <class U>
  void construct(U* place) {
    ::new (static_cast<void*>(place)) U;
  }
};

template <class T>
using Room = std::vector<T, Unfilled<T>>;

}  // namespace abers
