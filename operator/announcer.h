// SPDX-License-Identifier: Apache-2.0
// Announcer: tells those who apply PodPlacementConfigs that one is about to be written (see configs/announcements.h).
// Thread: the client's.
#pragma once

#include <string>

#include "api/pod_placement_config.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace operator_ {

class Announcer {
 public:
  // `client` and `clock` outlive it. `ns` is the operator's namespace.
  Announcer(kube::Client& client, kube::Clock& clock, std::string ns)
      : client_(client), clock_(clock), ns_(std::move(ns)) {}

  // Resumes when the cluster's controller and the shard of the config's namespace can read of `config`, as it will be
  // stored; of those, who has no Lease does not work yet, and will list all configs before it does.
  // Errors: the API server's; kConflict if others write a Lease all the time.
  kube::Async<> Announce(const api::PodPlacementConfig& config);

 private:
  kube::Async<> AnnounceOn(kube::ObjectKey lease, std::string ns, std::string name, std::string uid,
                           int64_t generation);

  kube::Client& client_;
  kube::Clock& clock_;
  std::string ns_;
};

}  // namespace operator_
