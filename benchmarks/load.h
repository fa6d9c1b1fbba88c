// SPDX-License-Identifier: Apache-2.0
// Load: creates many pods and measures how long each is gated.
//
//   LoadOptions options{.namespaces = {"shop"}, .pods = 2000, .images = {"r.io/app:1"}};
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
  // The pods alternate between the namespaces, and between the images.
  std::vector<std::string> namespaces;
  int pods = 0;
  std::vector<std::string> images;
  // Concurrent calls.
  int connections = 32;
  // New pods per second; 0: as many as the API server accepts.
  int rate = 0;
  // Creates each pod with so many gates of the benchmark and removes each by one PUT: the minimum
  // for any controller.
  int own_gates = 0;
  // Leaves the gates of the benchmark to RemoveOwnGates().
  bool keep_own_gates = false;
  // Size of an annotation, which makes the pods large.
  size_t padding = 0;
  // Deletes every second pod as soon as it is created, when it still has its gates.
  bool delete_half = false;
  // Whether to wait until all pods are ungated.
  bool await_ungated = true;
  // Timeout for the whole run.
  std::chrono::seconds timeout{300};
};

struct LoadResult {
  // From the first call to the last response.
  kube::Duration created{};
  // From the first call to the event of the last ungated pod; zero without await_ungated.
  kube::Duration ungated{};
  // The time of each pod until the event that it is ungated, sorted: from its create call, and from
  // the response to that call. Empty without await_ungated.
  std::vector<kube::Duration> from_call;
  std::vector<kube::Duration> from_response;
};

// Errors: those of the calls; kDeadlineExceeded unless all pods are ungated within `timeout`.
kube::Async<LoadResult> RunLoad(kube::Client& client, kube::Clock& clock, LoadOptions options);

// Removes the gates of the benchmark from all pods that RunLoad() created, each by one PUT. Returns
// the time of the PUTs.
kube::Async<kube::Duration> RemoveOwnGates(kube::Client& client, kube::Clock& clock,
                                           LoadOptions options);

struct Ungated {
  // The time until the first and the last gated pod was ungated.
  kube::Duration first{};
  kube::Duration last{};
};

// Waits until all existing pods of `ns` are ungated.
kube::Async<Ungated> AwaitUngated(kube::Client& client, kube::Clock& clock, std::string ns,
                                  std::chrono::seconds timeout);

// Deletes the pods that RunLoad() created and waits until they are deleted.
kube::Async<> DeletePods(kube::Client& client, kube::Clock& clock,
                         std::vector<std::string> namespaces);

}  // namespace benchmarks
