// SPDX-License-Identifier: Apache-2.0
// PullSecrets: the registry credentials of a pod, read on demand and kept for a moment, so that a Deployment's pods share
// one read and a deleted or changed Secret is out of use at once after. Nothing is shared between namespaces.
// Thread: the client's.
#pragma once

#include <chrono>
#include <string>
#include <unordered_map>

#include "inspection/config/credentials.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"

namespace cluster_controller {

class PullSecrets {
 public:
  PullSecrets(kube::Client& client, kube::Clock& clock, std::chrono::milliseconds ttl = std::chrono::seconds(2))
      : client_(client), clock_(clock), ttl_(ttl) {}

  // The Secret that counts for every pod, after the pod's own; an empty name for none.
  void SetGlobal(kube::ObjectKey secret) { global_ = std::move(secret); }

  // The credentials of the pod's imagePullSecrets in their order, then the global ones. As for the kubelet, a Secret that
  // is missing or is no pull secret counts as none.
  // Errors: the API server's, but for kNotFound.
  kube::Async<inspection::Keyring> For(const kube::core::Pod& pod);

 private:
  struct Entry {
    inspection::Keyring keyring;
    kube::TimePoint expires;
  };

  kube::Async<inspection::Keyring> Read(kube::ObjectKey key);
  void ForgetExpired();

  kube::Client& client_;
  kube::Clock& clock_;
  std::chrono::milliseconds ttl_;
  kube::ObjectKey global_;
  std::unordered_map<kube::ObjectKey, Entry> entries_;
};

}  // namespace cluster_controller
