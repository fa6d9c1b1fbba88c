// SPDX-License-Identifier: Apache-2.0
// SetReconciler: the sets `default` and `global`, created where absent and never changed
// afterwards; the condition ClusterSetEmpty of ManagedClusterSets; the condition Bound of their
// bindings. Writes only what differs. Thread: the client's.
#pragma once

#include <string>

#include "fleet/standalone/membership/cluster_index.h"
#include "fleet/standalone/membership/write_pace.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/reader.h"
#include "kube/client/client.h"
#include "kube/controller/reconciler.h"
#include "kube/types/unstructured.h"

namespace fleet {

// Condition types of a ManagedClusterSet and of a ManagedClusterSetBinding.
inline constexpr std::string_view kClusterSetEmpty = "ClusterSetEmpty";
inline constexpr std::string_view kBound = "Bound";

class SetReconciler final : public kube::Reconciler {
 public:
  using Reader = kube::Reader<kube::Unstructured>;

  // All outlive this.
  SetReconciler(kube::Client& client, kube::Clock& clock, const Reader& sets,
                const Reader& bindings, const ClusterIndex& clusters)
      : client_(client),
        clock_(clock),
        sets_(sets),
        bindings_(bindings),
        clusters_(clusters),
        pace_(clock) {}

  // A key without a namespace is a set's, others are bindings'.
  kube::Async<kube::Outcome> Reconcile(kube::Request request) override;

 private:
  kube::Async<> ReconcileSet(const std::string& name);
  kube::Async<> ReconcileBinding(const kube::ObjectKey& key);
  kube::Async<> CreateSet(const std::string& name);
  // Writes the condition if it differs from that of `object`.
  kube::Async<> WriteCondition(kube::Resource resource, const kube::Json& object,
                               kube::Json conditions);

  kube::Client& client_;
  kube::Clock& clock_;
  const Reader& sets_;
  const Reader& bindings_;
  const ClusterIndex& clusters_;
  WritePace pace_;
};

}  // namespace fleet
