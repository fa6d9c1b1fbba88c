// SPDX-License-Identifier: Apache-2.0
// Load: creates many small pods in one namespace and measures how long each is gated.
//
//   LoadOptions options{.ns = "shop", .pods = 2000, .image = "r.io/app:1"};
//   Result<LoadResult> result = co_await RunLoad(client, clock, options);
//
// The pods name a scheduler that does not exist, so they cost nothing after they are ungated. A
// watch observes when a pod is ungated.
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
  // Concurrent calls.
  int connections = 32;
  // New pods per second; 0: as many as the API server accepts.
  int rate = 0;
  // Creates each pod with a gate of the benchmark and removes it with one PUT: the minimum for any
  // controller.
  bool own_gate = false;
  // Whether to wait until all pods are ungated.
  bool await_ungated = true;
  // Of the whole run.
  std::chrono::seconds timeout{300};
};

struct LoadResult {
  // From the first call to the last response.
  kube::Duration created{};
  // From the first call to the event of the last ungated pod; zero without await_ungated.
  kube::Duration ungated{};
  // Of each pod, from its create call until it is ungated, sorted; empty without await_ungated.
  std::vector<kube::Duration> waits;
};

// Errors: those of the calls; kDeadlineExceeded unless all pods are ungated within `timeout`.
kube::Async<LoadResult> RunLoad(kube::Client& client, kube::Clock& clock, LoadOptions options);

// Waits until all existing pods of `ns` are ungated. Returns the time that this took.
kube::Async<kube::Duration> AwaitUngated(kube::Client& client, kube::Clock& clock, std::string ns,
                                         std::chrono::seconds timeout);

// Deletes the pods that RunLoad() created in `ns` and waits until they are deleted.
kube::Async<> DeletePods(kube::Client& client, kube::Clock& clock, std::string ns);

}  // namespace benchmarks
