// SPDX-License-Identifier: Apache-2.0
// Load: many small pods created in one namespace, and how long each of them waited for its gates to
// go.
//
//   LoadResult result = ... co_await RunLoad(client, clock, {.ns = "shop", .pods = 2000, .image =
//   "r.io/app:1"});
//
// The pods are for a scheduler that nobody is: what happens to them afterwards costs nothing. A
// watch sees when a pod is free, whoever freed it.
#pragma once

#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace benchmarks {

struct LoadOptions {
  std::string ns;
  int pods = 0;
  std::string image;
  // Calls under way at a time.
  int connections = 32;
  // New pods a second; 0: as many as the API server takes.
  int rate = 0;
  // The least that can be done about a gate: each pod is created with one, and a PUT of what came
  // back drops it.
  bool own_gate = false;
  // Whether to wait until all pods are free.
  bool await_free = true;
  // For all of it.
  std::chrono::seconds timeout{300};
};

struct LoadResult {
  kube::Duration created{};  // from the first call to the last answer
  kube::Duration
      freed{};  // from the first call to the last pod seen without gates; zero if not awaited
  std::vector<kube::Duration>
      waits;  // of each pod, from the call that creates it; sorted; empty if not awaited
};

// Errors: those of the calls; kDeadlineExceeded when not all pods are free within `timeout`.
kube::Async<LoadResult> RunLoad(kube::Client& client, kube::Clock& clock, LoadOptions options);

// Waits until all pods of `ns` that there are, are free. Returns how long that took.
kube::Async<kube::Duration> AwaitFree(kube::Client& client, kube::Clock& clock, std::string ns,
                                      std::chrono::seconds timeout);

// Deletes the pods of `ns` that are no operands and waits until they are gone.
kube::Async<> DeletePods(kube::Client& client, kube::Clock& clock, std::string ns);

}  // namespace benchmarks
