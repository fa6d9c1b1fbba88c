// SPDX-License-Identifier: Apache-2.0
// ClusterReconciler: the membership of one ManagedCluster: what the hub writes to it
// (cluster_state.h), and the access of its agent (cluster_access.h).
//
// A deleted cluster first loses its works, while an agent lives that removes their objects, then
// its access, then its namespace if the hub created it, then the finalizer. A ManagedCluster that
// is gone leaves no access either. Thread: the client's.
#pragma once

#include <string>

#include "fleet/standalone/membership/cluster_access.h"
#include "fleet/standalone/membership/cluster_state.h"
#include "fleet/standalone/membership/signs_of_life.h"
#include "fleet/standalone/membership/write_pace.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "kube/types/unstructured.h"

namespace fleet {

class ClusterReconciler final : public kube::Reconciler {
 public:
  // All outlive this. `clusters`: all ManagedClusters, of each at least what TrimCluster() keeps.
  ClusterReconciler(kube::Client& client, kube::Clock& clock,
                    const kube::Reader<kube::Unstructured>& clusters, ClusterAccess& access,
                    SignsOfLife& signs, std::string hub_namespace)
      : client_(client),
        clock_(clock),
        clusters_(clusters),
        access_(access),
        signs_(signs),
        hub_namespace_(std::move(hub_namespace)),
        pace_(clock) {}

  // The key is a ManagedCluster's. Errors: also kThrottled if another client reverts the writes.
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  kube::Async<kube::Outcome> Remove(kube::Unstructured cluster);
  // Reads it live: a watch whose connection is dead without a sign looks like silence of all
  // agents.
  kube::Async<> LookAtLease(const std::string& cluster);
  // What is known then is in `facts`.
  kube::Async<> GiveAccess(std::string name, MemberFacts& facts);
  // Writes, and replaces `cluster` by what is stored then.
  kube::Async<> Patch(kube::Json& cluster, kube::Json patch, std::string subresource);

  kube::Client& client_;
  kube::Clock& clock_;
  const kube::Reader<kube::Unstructured>& clusters_;
  ClusterAccess& access_;
  SignsOfLife& signs_;
  std::string hub_namespace_;
  WritePace pace_;
};

// Removes what the reconciler does not read, and of more than kMaxMemberBytes of conditions those
// that it does not write.
void TrimCluster(kube::Unstructured& cluster);

}  // namespace fleet
