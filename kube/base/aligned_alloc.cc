// SPDX-License-Identifier: Apache-2.0
// aligned_alloc() in place of libc's, for programs. Asio allocates the frame of each coroutine with
// it, although frames need no more than the usual alignment. glibc before 2.41 serves it without
// its cache of free blocks, and splits a larger block to align it: a tenth of all instructions for
// a pod, counted by callgrind.
#include <malloc.h>

#include <cstddef>
#include <cstdlib>

#pragma GCC visibility push(default)

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return alignment <= alignof(std::max_align_t) ? std::malloc(size) : ::memalign(alignment, size);
}

#pragma GCC visibility pop
