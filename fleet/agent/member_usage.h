// SPDX-License-Identifier: Apache-2.0
// MemberUsage: what this cluster's nodes have and its pods request, from watches of all nodes and
// pods. It keeps only an object's key and what the sums need: 56 MB for 5,000 nodes and 100,000
// pods that are each a workload of their own (measured). Thread: the client's.
#pragma once

#include "fleet/agent/resource_totals.h"
#include "fleet/scores/usage_index.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/reflector.h"
#include "kube/client/client.h"

namespace fleet {

class MemberUsage {
 public:
  // `client` and `clock` outlive this.
  MemberUsage(kube::Client& client, kube::Clock& clock);

  // `tasks` must be stopped before this is destroyed.
  void Start(kube::TaskGroup& tasks);

  // Whether the sums can be published: all nodes and pods were read, and no watch has been failing
  // for a minute.
  bool current() const;
  // The same for the nodes alone.
  bool nodes_current() const;

  const UsageSums& sums() const { return index_.sums(); }
  const ResourceTotals& totals() const { return totals_; }

 private:
  class Nodes final : public kube::Reflector::Kind {
   public:
    explicit Nodes(MemberUsage& usage) : usage_(usage) {}
    kube::Result<kube::Reflector::Packed> Pack(kube::WireObject wire) override;
    std::string Stub(std::string_view /*packed*/) override { return ""; }
    void Emit(kube::EventType type, const kube::ObjectKey& key,
              const kube::Reflector::Held& held) override;

   private:
    MemberUsage& usage_;
    kube::Json received_;  // between Pack() and Emit()
  };
  class Pods final : public kube::Reflector::Kind {
   public:
    explicit Pods(MemberUsage& usage) : usage_(usage) {}
    kube::Result<kube::Reflector::Packed> Pack(kube::WireObject wire) override;
    std::string Stub(std::string_view /*packed*/) override { return ""; }
    void Emit(kube::EventType type, const kube::ObjectKey& key,
              const kube::Reflector::Held& held) override;

   private:
    MemberUsage& usage_;
    PodUsage received_;  // between Pack() and Emit()
  };

  UsageIndex index_;
  ResourceTotals totals_;
  Nodes node_kind_{*this};
  Pods pod_kind_{*this};
  kube::Reflector nodes_;
  kube::Reflector pods_;
};

}  // namespace fleet
