// SPDX-License-Identifier: Apache-2.0
// PodReconcilerTest: a PodReconciler of the pod ns/web, with the API server, the registry, the
// clock and rules faked.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "api/testing/make_config.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/nodes/node_images.h"
#include "cluster-controller/nodes/offered_architectures.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/pod_additions.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/pod_reconciler.h"
#include "cluster-controller/pull_secrets.h"
#include "cluster-controller/shard_watch.h"
#include "inspection/testing/fake_inspector.h"
#include "kube/base/task_group.h"
#include "kube/cache/reader.h"
#include "kube/controller/event_recorder.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/architecture.h"
#include "placement/gate.h"
#include "rules/asker.h"
#include "rules/testing/fake_rule_policy.h"
#include "watches/fresh_configs.h"

namespace cluster_controller {

// A cache that is always current: reads from the API server.
template <class T>
class LiveReader : public kube::Reader<T> {
 public:
  explicit LiveReader(kube::FakeApiServer& api) : api_(api) {}
  std::optional<T> Get(const kube::ObjectKey& key) const override { return api_.Get<T>(key); }
  void ForEach(const std::function<void(const T&)>& visit) const override {
    for (const T& object : api_.List<T>()) visit(object);
  }
  size_t size() const override { return api_.List<T>().size(); }
  bool synced() const override { return true; }

 private:
  kube::FakeApiServer& api_;
};

class PodReconcilerTest : public testing::Test {
 protected:
  PodReconcilerTest() {
    tasks_.Spawn("configs", configs_.Run());
    images_.SetDefault(placement::ArchitectureSet{"amd64", "arm64"});
  }
  ~PodReconcilerTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), std::chrono::seconds(5))),
                kube::IsOk());
  }

  kube::MakePod GatedPod() {
    return kube::MakePod("web")
        .Gate(api::kClusterGate)
        .Label(api::kClusterGateLabel, api::kGated)
        .Image("r.io/app:1");
  }
  kube::Result<kube::Outcome> Reconcile() {
    // Like the controller: again when a result wakes the pod.
    bool woken = true;
    auto wake = [&](const kube::ObjectKey&) { woken = true; };
    queue_.OnResult(wake);
    node_images_.OnListed(wake);
    kube::Result<kube::Outcome> outcome = kube::Outcome::Done();
    while (std::exchange(woken, false)) {
      outcome = kube::Run(io_, reconciler_.Reconcile({{"ns", "web"}}));
      kube::Drain(io_);
    }
    queue_.OnResult(nullptr);
    node_images_.OnListed(nullptr);
    return outcome;
  }
  // Runs and makes these additions.
  void Add(std::unique_ptr<PodAdditions> additions) {
    tasks_.Spawn("additions", additions->Run());
    additions_.push_back(std::move(additions));
  }
  kube::core::Pod Web() { return *api_.Get<kube::core::Pod>({"ns", "web"}); }
  bool Gated() { return placement::HasGate(Web(), api::kClusterGate); }
  placement::ArchitectureSet Required() {
    placement::ArchitectureSet required;
    kube::core::Pod web = Web();
    const auto& affinity = web.spec().affinity().node_affinity();
    for (auto& term :
         affinity.required_during_scheduling_ignored_during_execution().node_selector_terms()) {
      for (auto& expression : term.match_expressions()) {
        if (expression.key() == api::kArchLabel)
          required.insert(expression.values().begin(), expression.values().end());
      }
    }
    return required;
  }
  int Preferences() {
    return Web()
        .spec()
        .affinity()
        .node_affinity()
        .preferred_during_scheduling_ignored_during_execution_size();
  }
  void CreateConfig(const std::string& name, const std::string& architecture) {
    api_.Create<api::PodPlacementConfig>(api::MakeConfig(name).Prefer(architecture, 50));
  }

  PodReconcilerParts Parts() {
    return {"operator-ns", api_,
            clock_,        tasks_,
            events_,       configs_,
            rules_,        inspector_,
            offered_,      additions_,
            shards_,       namespaces_,
            known_,        placement_metrics_,
            pods_,         cluster_configs_};
  }
  // The rule prefers `architecture` for pods of this kind (FakeRulePolicy).
  api::PodPlacementConfig CreateConfigWithRule(const char* name, const char* kind,
                                               const char* architecture, int priority = 0) {
    return api_.Create<api::PodPlacementConfig>(
        api::MakeConfig(name).Priority(priority).Rule(kind, kind, architecture, 80));
  }
  std::vector<std::string> Events() {
    kube::TaskGroup tasks(io_.get_executor());
    tasks.Spawn("events", events_.Run());
    kube::Drain(io_);
    kube::IgnoreError(kube::Run(io_, tasks.Stop(kube::RealClock(), std::chrono::seconds(5))),
                      "the events are sent");
    std::vector<std::string> reasons;
    for (const kube::core::Event& event : api_.List<kube::core::Event>("ns"))
      reasons.push_back(event.reason());
    return reasons;
  }
  void CreateNamespace(const std::string& name, const std::string& team) {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    (*ns.mutable_metadata()->mutable_labels())["team"] = team;
    api_.Create(ns);
  }

  static kube::Json Tolerations(bool enabled) {
    return {{"architectureTolerations", {{"enabled", enabled}}}};
  }
  // The values of the tolerations.
  std::vector<std::string> Tolerated() {
    std::vector<std::string> values;
    kube::core::Pod web = Web();
    for (const auto& toleration : web.spec().tolerations()) values.push_back(toleration.value());
    return values;
  }

  // With the operator's finalizer.
  void CreateClusterConfig(kube::Json spec) {
    api::MakeClusterConfig config;
    config.Finalizer(api::kPodPlacementFinalizer).Set("/spec", std::move(spec));
    api_.CreateJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value, config.Build());
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{api_, clock_, {.component = "test"}};
  watches::FreshConfigs configs_{api_, clock_, ""};
  rules::FakeRulePolicy client_{api_};
  rules::Asker rules_{client_, clock_};
  inspection::FakeInspector images_;
  PullSecrets secrets_{api_, clock_};
  NodeImages node_images_{api_, clock_, tasks_};
  kube::Metrics metrics_;
  PlacementMetrics placement_metrics_{metrics_};
  InspectionQueue queue_{images_, clock_, tasks_, placement_metrics_};
  PodInspector inspector_{queue_, secrets_, node_images_, placement_metrics_, clock_};
  OfferedArchitectures offered_{api_, clock_, tasks_, events_};
  PodAdditionsList additions_;
  ShardWatch shards_{clock_};
  NamespaceSelection namespaces_{api_};
  KnownPods known_{clock_};
  LiveReader<kube::core::Pod> pods_{api_};
  LiveReader<api::ClusterPodPlacementConfig> cluster_configs_{api_};
  PodReconciler reconciler_{Parts()};
};

}  // namespace cluster_controller
