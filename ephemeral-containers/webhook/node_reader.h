// SPDX-License-Identifier: Apache-2.0
// NodeReader: the operating system and the architecture of a node, by its labels, which its kubelet
// sets. They are kept for a minute. Concurrent calls for a node share a GET; time and number of the
// GETs are bounded, as the names of nodes come from requests. Thread: the client's.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>

#include "ephemeral-containers/warning.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/base/shared_call.h"
#include "kube/client/client.h"

namespace ephemeral {

// A call that joins waits for the GET before its own too: both end within a review.
inline constexpr std::chrono::milliseconds kNodeReadTimeout{1'000};
// GETs of different nodes at a time.
inline constexpr size_t kMaxNodeReads = 16;
// A node that is replaced under its name has its new platform after this time.
inline constexpr std::chrono::seconds kNodeLifetime{60};
inline constexpr size_t kMaxKeptNodes = 1024;

class NodeReader {
 public:
  // Both outlive the reader.
  NodeReader(kube::Client& client, kube::Clock& clock) : client_(client), clock_(clock) {}

  // `name`: a valid name of an object. Errors: kThrottled above kMaxNodeReads, kInvalid for a node
  // without these labels, those of the API server.
  kube::Async<NodePlatform> Read(std::string name);

 private:
  struct Kept {
    NodePlatform node;
    kube::TimePoint until;
  };

  kube::Client& client_;
  kube::Clock& clock_;
  kube::LruMap<Kept> kept_{kMaxKeptNodes};
  std::map<std::string, kube::SharedCall<NodePlatform>> reads_;
};

}  // namespace ephemeral
