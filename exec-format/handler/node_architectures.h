// SPDX-License-Identifier: Apache-2.0
// NodeArchitectures: the architecture of a node, by the label that its kubelet sets. It is kept for
// a minute. Thread: the client's.
#pragma once

#include <chrono>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/client/client.h"
#include "kube/client/metadata_lists.h"

namespace exec_format {

inline constexpr std::chrono::seconds kNodeLifetime{60};
inline constexpr size_t kMaxNodes = 1'024;

class NodeArchitectures {
 public:
  // Both outlive it.
  NodeArchitectures(kube::Client& client, kube::Clock& clock) : metadata_(client), clock_(clock) {}

  // `node`: a valid name of an object. Returns: "" if there is no such node, or it has no such
  // label. Errors: those of the API server.
  kube::Async<std::string> Read(std::string node);

 private:
  struct Kept {
    std::string architecture;
    kube::TimePoint until;
  };

  // A list, of one node: its metadata alone, by the right that the cluster controller has.
  kube::MetadataLists metadata_;
  kube::Clock& clock_;
  kube::LruMap<Kept> kept_{kMaxNodes};
};

}  // namespace exec_format
