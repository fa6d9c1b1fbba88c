// SPDX-License-Identifier: Apache-2.0
// Cost: what the calling thread asked of the kernel and of the heap, for tests that bound the cost
// of an operation. Counts, not times: they are the same on a busy machine.
//
//   Cost before = CostOfThread();
//   ...
//   Cost cost = CostOfThread() - before;
//   EXPECT_LE(cost.waits, 100) << "of 100 calls";
//
// A program that links this library gets its functions in place of those of libc and libstdc++.
#pragma once

#include <cstdint>
#include <ostream>

namespace kube {

struct Cost {
  int64_t receives = 0;        // recv(2) and its variants, also those that fail
  int64_t empty_receives = 0;  // of these, failed with EAGAIN
  int64_t sends = 0;           // send(2) and its variants
  int64_t waits = 0;           // epoll_wait(2): wake-ups, and polls between two handlers
  int64_t registrations = 0;   // epoll_ctl(2)
  int64_t timers = 0;          // timerfd_settime(2)
  int64_t allocations = 0;     // operator new
};

// Since the start of the calling thread.
Cost CostOfThread();

Cost operator-(const Cost& a, const Cost& b);

// The cost of one of many equal operations. Prints "receives=2 (1 empty) sends=1 ...".
struct CostPer {
  Cost cost;
  int operations = 1;

  // False, with both on stderr, if one of the counts is above that of `bound`. One operation in
  // twenty may cost one more, because a busy machine may deliver bytes in pieces. Allocations count
  // in optimized builds only: sanitizers make coroutines larger.
  bool IsWithin(const Cost& bound) const;
};
std::ostream& operator<<(std::ostream& out, const CostPer& per);

}  // namespace kube
