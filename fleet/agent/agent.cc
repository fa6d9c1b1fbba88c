// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/agent.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "fleet/api/managed_cluster.h"
#include "fleet/api/pod_placement_work.h"

namespace fleet {
namespace {

using kube::EventType;
using kube::Json;
using kube::ObjectKey;
using kube::Unstructured;

using Options = kube::InformerOptions<Unstructured>;

// The longest backoff for a work whose reconcile fails.
constexpr std::chrono::seconds kMaxBackoff{60};

Options Applied(const kube::Resource& resource) {
  Options options;
  options.label_selector = std::string(kWorkUidLabel);
  options.resource = resource;
  options.trim = [](Unstructured& object) {
    Json body;
    body["metadata"]["labels"] = {{std::string(kWorkUidLabel), WorkUidOf(object.body())}};
    object = Unstructured(std::move(body));
  };
  return options;
}

// What identifies an object of the hub.
std::string StubOf(std::string_view packed) {
  kube::Result<Json> work = kube::UnpackJson(packed);
  Json stub;
  for (const char* field : {"name", "namespace", "uid"})
    stub["metadata"][field] = work ? kube::StringAt(*work, "metadata." + std::string(field)) : "";
  return kube::PackJson(stub);
}

Options Works(const AgentOptions& agent) {
  Options options;
  options.ns = agent.cluster;
  options.resource = kPodPlacementWorks;
  options.max_objects = agent.max_works;
  options.budget = {.object = agent.max_work_bytes,
                    .one_namespace = agent.max_work_bytes,
                    .total = agent.max_work_bytes};
  options.stub = StubOf;
  return options;
}

// The ManagedCluster of this cluster: one object, whatever the hub sends.
Options OwnCluster(const AgentOptions& agent) {
  constexpr size_t kMaxBytes = size_t{1} << 20;
  Options options;
  options.field_selector = "metadata.name=" + agent.cluster;
  options.resource = kManagedClusters;
  options.max_objects = 1;
  options.budget = {.object = kMaxBytes, .one_namespace = kMaxBytes, .total = kMaxBytes};
  options.stub = StubOf;
  return options;
}

}  // namespace

Agent::Agent(kube::Client& hub, kube::Client& member, kube::Clock& clock,
             const AgentOptions& options, kube::ControllerObserver* observer)
    : clock_(clock),
      works_(hub, clock, Works(options)),
      clusters_(hub, clock, OwnCluster(options)),
      cluster_configs_(member, clock, Applied(AppliedKinds().front())),
      configs_(member, clock, Applied(AppliedKinds().back())),
      usage_(member, clock),
      lease_(hub, clusters_, clock, options.cluster),
      status_(hub, member, clusters_, usage_, clock, options.cluster),
      scores_(hub, usage_, clock, options.cluster, options.scores),
      reconciler_(hub, member, works_, clock),
      controller_({.name = "fleet-agent", .queue = {.max_delay = kMaxBackoff}}, reconciler_, clock,
                  observer) {
  if (!options.hub_secret.name.empty())
    token_.emplace(hub, member, clock, options.cluster, options.hub_secret);
  if (options.publish_image_facts)
    published_facts_.emplace(hub, member, clock, options.cluster, options.operator_namespace);
  if (options.use_image_facts)
    imported_facts_.emplace(hub, member, clock, options.hub_namespace, options.operator_namespace);
  works_.OnChange([this](EventType, const ObjectKey& work) { controller_.Enqueue(work); });
  cluster_configs_.OnEvent([this](EventType, const Unstructured& object) { OnApplied(object); });
  configs_.OnEvent([this](EventType, const Unstructured& object) { OnApplied(object); });
}

// Enqueues the work of the object; every work if the mark was removed.
void Agent::OnApplied(const Unstructured& object) {
  std::string uid = WorkUidOf(object.body());
  works_.ForEach([&](const Unstructured& work) {
    if (uid.empty() || work.metadata().uid() == uid) controller_.Enqueue(kube::KeyOf(work));
  });
}

boost::asio::awaitable<void> Agent::Run(kube::TaskGroup& tasks) {
  co_await kube::IgnoreCancellation();
  tasks.Spawn("managed-cluster", clusters_.Run());
  tasks.Spawn("works", works_.Run());
  tasks.Spawn("cluster-configs", cluster_configs_.Run());
  tasks.Spawn("configs", configs_.Run());
  usage_.Start(tasks);
  tasks.Spawn("lease", KeepPublishing(lease_, clock_));
  tasks.Spawn("status", KeepPublishing(status_, clock_));
  tasks.Spawn("scores", KeepPublishing(scores_, clock_));
  if (token_) tasks.Spawn("token", KeepPublishing(*token_, clock_));
  if (published_facts_) tasks.Spawn("published-facts", KeepPublishing(*published_facts_, clock_));
  if (imported_facts_) tasks.Spawn("imported-facts", KeepPublishing(*imported_facts_, clock_));

  // A missing work can be recognized only when all are known.
  kube::Result<> synced = co_await works_.WaitForSync();
  if (synced) tasks.Spawn(controller_.name(), controller_.Run(tasks));
}

}  // namespace fleet
