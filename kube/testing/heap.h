// SPDX-License-Identifier: Apache-2.0
// HeapInUse(): the bytes that this process has allocated and not freed, for tests of what is kept.
//
//   size_t before = HeapInUse();
//   ...
//   if (kHeapIsMeasured) EXPECT_LT(HeapInUse() - before, 1 << 20);
#pragma once

#include <malloc.h>

#include <cstddef>

namespace kube {

// Sanitizers have a heap of their own.
#ifdef BUILT_WITH_SANITIZER
inline constexpr bool kHeapIsMeasured = false;
#else
inline constexpr bool kHeapIsMeasured = true;
#endif

inline size_t HeapInUse() {
  struct mallinfo2 heap = mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

}  // namespace kube
