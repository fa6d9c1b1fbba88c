// SPDX-License-Identifier: Apache-2.0
// One key through the queue, with so many others in it: added, taken by a worker, done.
//   bazel run //kube/queue:work_queue_benchmark
#include <benchmark/benchmark.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "kube/base/clock.h"
#include "kube/queue/work_queue.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

void BM_AddTakeDone(benchmark::State& state) {
  boost::asio::io_context io{1};
  WorkQueue queue(RealClock());
  for (int i = 0; i < state.range(0); ++i) queue.Add({"shop", "pod-" + std::to_string(i)});
  int number = static_cast<int>(state.range(0));
  for (auto _ : state) {
    queue.Add({"shop", "pod-" + std::to_string(number++)});
    Result<ObjectKey> key = Run(io, queue.Next());
    queue.Forget(*key);
    queue.Done(*key);
  }
}
BENCHMARK(BM_AddTakeDone)->Arg(0)->Arg(10'000);

// The event of a pod that is in the queue already.
void BM_AddAgain(benchmark::State& state) {
  WorkQueue queue(RealClock());
  const ObjectKey key{"shop", "pod"};
  for (auto _ : state) queue.Add(key);
}
BENCHMARK(BM_AddAgain);

}  // namespace
}  // namespace kube
