// SPDX-License-Identifier: Apache-2.0
// TemplateFeatureTest: the feature against a fake API server, with the parts that place pods and a
// fake image inspector. There is a namespace "ns".
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/templates.h"
#include "api/testing/make_config.h"
#include "cluster-controller/findings/image_findings.h"
#include "cluster-controller/inspection_queue.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/nodes/node_images.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/pull_secrets.h"
#include "cluster-controller/term_feature.h"
#include "inspection/testing/fake_inspector.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/controller/controller.h"
#include "kube/controller/event_recorder.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/counting_observer.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "kube/types/workloads.h"
#include "placement/architecture.h"
#include "templates/template_feature.h"
#include "templates/template_metrics.h"
#include "watches/fresh_configs.h"

namespace templates {

// Calls and watches whose target contains `hang_on` wait until they are cancelled, or for Resume().
class HangingClient final : public kube::Client {
 public:
  explicit HangingClient(kube::Client& api) : api_(api) {}

  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    co_await kube::IgnoreCancellation();
    kube::Result<> waited = co_await Hang(request.target);
    if (!waited) co_return waited.error();
    kube::Result<kube::ApiResponse> response = co_await api_.Call(std::move(request));
    co_return response;
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    co_await kube::IgnoreCancellation();
    kube::Result<> waited = co_await Hang(request.target);
    if (!waited) co_return waited.error();
    auto stream = co_await api_.Watch(std::move(request));
    co_return stream;
  }
  void Resume() {
    hang_on.clear();
    resumed_.NotifyAll();
  }

  std::string hang_on;
  int hanging = 0;

 private:
  kube::Async<> Hang(const std::string& target) {
    if (hang_on.empty() || target.find(hang_on) == std::string::npos) co_return kube::Ok();
    ++hanging;
    kube::Result<> waited = co_await resumed_.Wait();
    --hanging;
    co_return waited;
  }

  kube::Client& api_;
  kube::Notifier resumed_;
};

class TemplateFeatureTest : public testing::Test {
 protected:
  TemplateFeatureTest() {
    CreateNamespace("ns");
    auto wake = [this](const kube::ObjectKey& key) { feature_.Wake(key); };
    queue_.OnResult(wake);
    inspector_.OnTurn(wake);
    node_images_.OnListed(wake);
    tasks_.Spawn("configs", configs_.Run());
    feature_.Start(tasks_);
    kube::Drain(io_);
  }
  ~TemplateFeatureTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), std::chrono::seconds(5))),
                kube::IsOk());
  }

  // The plugins of the ClusterPodPlacementConfig.
  void Use(const kube::Json& plugins, const kube::Json& selector = nullptr) {
    api::MakeClusterConfig config;
    config.Set("/spec/plugins", plugins);
    if (!selector.is_null()) config.Set("/spec/namespaceSelector", selector);
    auto parsed = api::ClusterPodPlacementConfig::FromJson(config.Build());
    ASSERT_TRUE(parsed) << parsed.error();
    feature_.Follow(&*parsed);
    kube::Drain(io_);
  }
  void Advance(kube::Duration time) {
    clock_.Advance(time);
    kube::Drain(io_);
  }

  void CreateNamespace(const std::string& name, std::string_view label = "") {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    if (!label.empty()) (*ns.mutable_metadata()->mutable_labels())[std::string(label)] = "";
    api_.Create(ns);
  }
  template <class Workload>
  Workload Create(const Workload& workload) {
    Workload created = api_.Create(workload);
    kube::Drain(io_);
    return created;
  }
  static kube::workloads::Job MakeJob(const std::string& name, const kube::core::Pod& pod,
                                      bool suspend = true) {
    auto job = MakeWorkload<kube::workloads::Job>(name, pod);
    job.mutable_spec()->set_suspend(suspend);
    return job;
  }
  static kube::workloads::DaemonSet MakeDaemonSet(const std::string& name,
                                                  const kube::core::Pod& pod) {
    return MakeWorkload<kube::workloads::DaemonSet>(name, pod);
  }

  template <class Workload>
  std::vector<std::string> Required(const std::string& name,
                                    std::string_view label = api::kArchLabel) {
    std::vector<std::string> required;
    Workload workload = *api_.Get<Workload>({"ns", name});
    const auto& affinity = workload.spec().template_().spec().affinity().node_affinity();
    for (const auto& term :
         affinity.required_during_scheduling_ignored_during_execution().node_selector_terms()) {
      for (const auto& expression : term.match_expressions()) {
        if (expression.key() == label)
          required.insert(required.end(), expression.values().begin(), expression.values().end());
      }
    }
    return required;
  }
  int Puts() { return api_.CountCalls("PUT "); }
  std::vector<std::string> Events() {
    kube::TaskGroup tasks(io_.get_executor());
    tasks.Spawn("events", events_.Run());
    kube::Drain(io_);
    kube::IgnoreError(kube::Run(io_, tasks.Stop(kube::RealClock(), std::chrono::seconds(5))),
                      "the events are sent");
    std::vector<std::string> events;
    for (const kube::core::Event& event : api_.List<kube::core::Event>())
      events.push_back(event.involved_object().kind() + "/" + event.involved_object().name() + " " +
                       event.reason() + ": " + event.message());
    return events;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  HangingClient client_{api_};
  kube::TaskGroup tasks_{io_.get_executor()};
  kube::EventRecorder events_{client_, clock_, {.component = "test"}};
  watches::FreshConfigs configs_{client_, clock_, ""};
  inspection::FakeInspector images_;
  cluster_controller::PullSecrets secrets_{client_, clock_};
  cluster_controller::NodeImages node_images_{client_, clock_, tasks_};
  kube::Metrics all_metrics_;
  cluster_controller::PlacementMetrics placement_metrics_{all_metrics_};
  TemplateMetrics metrics_{all_metrics_};
  kube::CountingObserver observer_;
  cluster_controller::InspectionQueue queue_{images_, clock_, tasks_, placement_metrics_};
  cluster_controller::PodInspector inspector_{queue_, secrets_, node_images_, placement_metrics_,
                                              clock_};
  cluster_controller::NamespaceSelection namespaces_{client_};
  cluster_controller::ImageFindings findings_;
  TemplateFeature feature_{{"operator-ns", client_, clock_, events_, configs_, inspector_,
                            namespaces_, images_, findings_},
                           metrics_,
                           &observer_};

 private:
  template <class Workload>
  static Workload MakeWorkload(const std::string& name, const kube::core::Pod& pod) {
    Workload workload;
    workload.mutable_metadata()->set_name(name);
    workload.mutable_metadata()->set_namespace_(pod.metadata().namespace_());
    auto& made = *workload.mutable_spec()->mutable_template_();
    *made.mutable_metadata()->mutable_labels() = pod.metadata().labels();
    *made.mutable_spec() = pod.spec();
    return workload;
  }
};

}  // namespace templates
