// SPDX-License-Identifier: Apache-2.0
#include "shard/namespace_controller.h"

#include "api/names.h"
#include "watches/gated_pods.h"

namespace shard {
namespace {

using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

constexpr char kController[] = "shard-pod";
constexpr int kWorkers = 16;
// How long a replica that does not lead leaves a pod to the leader.
constexpr kube::Duration kLeftToTheLeader = 20s;
// After this time without a watch, there may be gated pods that this replica does not know.
constexpr kube::Duration kMaxWithoutWatch = 30s;

std::vector<kube::Right> NeededRights(const std::string& ns) {
  return {{.verb = "update", .resource = "pods", .ns = ns},
          {.verb = "watch", .resource = "pods", .ns = ns},
          {.verb = "watch",
           .group = std::string(api::kGroup),
           .resource = "podplacementconfigs",
           .ns = ns},
          {.verb = "get",
           .group = "coordination.k8s.io",
           .resource = "leases",
           .name = std::string(api::kAnnouncementsName),
           .ns = ns}};
}

class Leading final : public kube::Term {
 public:
  explicit Leading(NamespaceController& controller) : controller_(controller) {}
  ~Leading() override { controller_.SetLeading(false); }

  boost::asio::awaitable<void> Run(kube::TaskGroup&) override {
    controller_.SetLeading(true);
    co_return;
  }

 private:
  NamespaceController& controller_;
};

}  // namespace

NamespaceController::NamespaceController(kube::Client& client, kube::Clock& clock,
                                         kube::Metrics& metrics, const std::string& ns)
    : clock_(clock),
      metrics_(metrics),
      controller_metrics_(metrics, clock, kController, kWorkers),
      event_metrics_(metrics, "mto_ppo_ctrl_"),
      pods_(client, clock, watches::GatedPods(ns, {api::kLocalGate})),
      configs_(client, clock, ns),
      rules_(client, clock),
      events_(client, clock,
              {.component = std::string(api::kEventComponent),
               .wanted = pod_events_.Wanted(),
               .busy = [this] { return controller_.queue().size() > 0; },
               .observer = &event_metrics_}),
      large_pods_(client, pods_, {.per_namespace = 1, .total = 1}),
      rights_(client, clock, NeededRights(ns)),
      reconciler_({.client = client,
                   .clock = clock,
                   .pods = large_pods_,
                   .configs = configs_,
                   .rules = rules_,
                   .events = events_,
                   .rights = rights_,
                   .metrics = metrics_}),
      controller_({.name = kController, .workers = kWorkers}, large_pods_, clock,
                  &controller_metrics_) {
  large_pods_.Serve(reconciler_);
  large_pods_.OnTurn([this](const kube::ObjectKey& pod) { controller_.Enqueue(pod); });
  pods_.OnChange([this](kube::EventType type, const kube::ObjectKey& pod) {
    metrics_.pods_gated.Set(static_cast<double>(pods_.size()));
    if (type == kube::EventType::kDeleted) return controller_.queue().Drop(pod);
    controller_.EnqueueAfter(pod, leading_ ? kube::Duration::zero() : kLeftToTheLeader);
  });
}

void NamespaceController::Start(kube::TaskGroup& tasks, kube::TaskGroup& workers) {
  tasks.Spawn("pod-watch", pods_.Run());
  tasks.Spawn("configs", configs_.Run());
  tasks.Spawn("events", events_.Run());
  tasks.Spawn("pod-events", pod_events_.Follow(clock_));
  tasks.Spawn("rights", rights_.Run());
  workers.Spawn(kController, controller_.Run(workers));
}

Result<void> NamespaceController::Able() const {
  if (!pods_.synced() || !configs_.synced())
    return kube::Error::Unavailable("the caches are not synced yet");
  if (pods_.failing_for() > kMaxWithoutWatch)
    return kube::Error::Unavailable("there is no watch of pods");
  if (configs_.failing_for() > kMaxWithoutWatch) {
    return kube::Error::Unavailable("there is no watch of PodPlacementConfigs");
  }
  return rights_.Check();
}

void NamespaceController::SetLeading(bool leading) {
  leading_ = leading;
  if (!leading) return;
  pods_.ForEachKey([this](const kube::ObjectKey& pod) { controller_.Enqueue(pod); });
}

std::unique_ptr<kube::Term> NamespaceController::NewTerm() {
  return std::make_unique<Leading>(*this);
}

}  // namespace shard
