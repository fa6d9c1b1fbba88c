// SPDX-License-Identifier: Apache-2.0
// Agent: the work of the replica that holds the Lease: its watches of the hub and of this cluster,
// what it publishes, and which event enqueues which PodPlacementWork.
#pragma once

#include <optional>
#include <string>

#include "fleet/agent/cluster_publisher.h"
#include "fleet/agent/fact_importer.h"
#include "fleet/agent/fact_publisher.h"
#include "fleet/agent/member_usage.h"
#include "fleet/agent/score_publisher.h"
#include "fleet/agent/token_renewal.h"
#include "fleet/agent/work_reconciler.h"
#include "fleet/scores/scores.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/controller/controller.h"
#include "kube/controller/leadership.h"
#include "kube/types/resource.h"

namespace fleet {

struct AgentOptions {
  // The name of this cluster, of its ManagedCluster, and of its namespace on the hub.
  std::string cluster;
  ScoreOptions scores;
  // The Secret of the member in which the hub's token is renewed (hub_token.h). Without a name the
  // token is not renewed here.
  kube::ObjectKey hub_secret;
  // Whether what this cluster knows about images is published on the hub, and whether it takes what
  // the hub shares; the namespaces of the operator and of the hub's pods, for both.
  bool publish_image_facts = false;
  bool use_image_facts = false;
  std::string operator_namespace;
  std::string hub_namespace;
  // Limits of the followed PodPlacementWorks: their number, and the bytes that are kept; what
  // exceeds the bytes is read from the hub when it is needed. The hub is untrusted.
  size_t max_works = 10'000;
  size_t max_work_bytes = size_t{64} << 20;
};

class Agent final : public kube::Term {
 public:
  // All outlive this; `observer` may be null.
  Agent(kube::Client& hub, kube::Client& member, kube::Clock& clock, const AgentOptions& options,
        kube::ControllerObserver* observer);

  // Term
  boost::asio::awaitable<void> Run(kube::TaskGroup& tasks) override;

 private:
  using Informer = kube::Informer<kube::Unstructured>;
  void OnApplied(const kube::Unstructured& object);

  kube::Clock& clock_;

  // Watches of the hub.
  Informer works_;
  Informer clusters_;

  // Watches of this cluster. The objects that were applied, without their content: events only.
  Informer cluster_configs_;
  Informer configs_;
  MemberUsage usage_;

  // What is published and reconciled.
  LeasePublisher lease_;
  StatusPublisher status_;
  ScorePublisher scores_;
  std::optional<TokenRenewal> token_;
  std::optional<FactPublisher> published_facts_;
  std::optional<FactImporter> imported_facts_;
  WorkReconciler reconciler_;
  kube::Controller controller_;
};

}  // namespace fleet
