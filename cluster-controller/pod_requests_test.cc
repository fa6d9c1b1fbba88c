// SPDX-License-Identifier: Apache-2.0
// What a gated pod costs the cluster controller: one write, its events, and for many pods together
// one read of announcements, and in ten minutes one of nodes and NodePools; one reconcile, which is
// one decoding of the pod, for each of its states that need a decision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <string>

#include "api/names.h"
#include "cluster-controller/known_pods.h"
#include "cluster-controller/leader.h"
#include "cluster-controller/placement_metrics.h"
#include "cluster-controller/shard_watch.h"
#include "kube/base/task_group.h"
#include "kube/controller/controller.h"
#include "kube/controller/event_recorder.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/call_kind.h"
#include "kube/testing/counting_observer.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"

namespace cluster_controller {
namespace {

using kube::MakePod;
using kube::core::Pod;
using testing::ElementsAre;
using testing::Pair;
using namespace std::chrono_literals;

constexpr int kPods = 200;
// Added, architectures required, gate removed.
constexpr int kEventsOfAPod = 3;

class PodRequestsTest : public testing::Test {
 protected:
  void SetUp() override {
    kube::core::Node node;
    node.mutable_metadata()->set_name("node");
    (*node.mutable_metadata()->mutable_labels())[std::string(api::kArchLabel)] = "amd64";
    api_.Create(node);
    tasks_.Spawn("events", events_.Run());
    LeaderParts parts{leader_, io_.get_executor(), api_,     clock_, events_, known_,
                      shards_, metrics_of_pods_,   observer_};
    term_ =
        std::make_unique<Leader>(parts, LeaderOptions{.ns = "operator-ns", .files = {}}, tasks_);
    tasks_.Spawn("leader", term_->Run(tasks_));
    Pass(1s);
    begin_ = api_.calls().size();
    observer_.reconciles = 0;
  }
  ~PodRequestsTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  void Pass(kube::Duration time) {
    for (kube::Duration step = 10ms; time > 0ms; time -= step) {
      clock_.Advance(step);
      kube::Drain(io_);
    }
  }
  // Without containers: the inspection needs no registry.
  MakePod Gated(int number) {
    return std::move(MakePod("web-" + std::to_string(number))
                         .Gate(api::kClusterGate)
                         .Label(api::kClusterGateLabel, api::kGated)
                         .Phase("Pending"));
  }
  // Since the last call.
  std::map<std::string, int> Requests() { return kube::CountKinds(api_.calls(), begin_); }
  int StillGated() {
    int gated = 0;
    for (const Pod& pod : api_.List<Pod>()) gated += placement::HasGate(pod, api::kClusterGate);
    return gated;
  }
  // As a shard does.
  void RemoveLocalGate(int number) {
    Pod pod = api_.Get<Pod>({"ns", "web-" + std::to_string(number)}).value();
    placement::DropGate(pod, api::kLocalGate);
    placement::SetLabel(pod, api::kLocalGateLabel, api::kRemoved);
    api_.Update(pod);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  Leader* leader_ = nullptr;
  kube::EventRecorder events_{api_, clock_, {.component = "test", .busy = [this] {
                                               return leader_ != nullptr && leader_->busy();
                                             }}};
  kube::Metrics metrics_;
  PlacementMetrics metrics_of_pods_{metrics_};
  kube::CountingObserver observer_;
  KnownPods known_{clock_};
  ShardWatch shards_{clock_};
  std::unique_ptr<Leader> term_;
  size_t begin_ = 0;  // of the requests for pods
};

TEST_F(PodRequestsTest, InABurst) {
  for (int i = 0; i < kPods; ++i) api_.Create<Pod>(Gated(i));
  kube::Drain(io_);
  EXPECT_EQ(StillGated(), 0);
  Pass(10s);
  // Announcements are read for the first pod, and once more for the pods that came meanwhile.
  EXPECT_THAT(Requests(), ElementsAre(Pair("create events", kPods * kEventsOfAPod),
                                      Pair("get leases", 2), Pair("list nodepools", 1),
                                      Pair("list nodes", 1), Pair("update pods", kPods)));
  EXPECT_EQ(observer_.reconciles, kPods);
  EXPECT_EQ(known_.size(), 0u);
}

TEST_F(PodRequestsTest, AtASteadyRate) {
  for (int i = 0; i < kPods; ++i) {
    api_.Create<Pod>(Gated(i));
    Pass(20ms);
  }
  EXPECT_EQ(StillGated(), 0);
  Pass(10s);
  // 4 s: one read of announcements in 0.2 s.
  EXPECT_THAT(Requests(), ElementsAre(Pair("create events", kPods * kEventsOfAPod),
                                      Pair("get leases", 20), Pair("list nodepools", 1),
                                      Pair("list nodes", 1), Pair("update pods", kPods)));
  EXPECT_EQ(observer_.reconciles, kPods);
}

// The shard has applied the PodPlacementConfigs: no announcements are read.
TEST_F(PodRequestsTest, WithBothGates) {
  for (int i = 0; i < kPods; ++i) {
    api_.Create<Pod>(Gated(i).Gate(api::kLocalGate).Label(api::kLocalGateLabel, api::kGated));
    Pass(10ms);
    RemoveLocalGate(i);
    Pass(10ms);
  }
  EXPECT_EQ(StillGated(), 0);
  // Longer than a pod waits for its shard, but not until OpenShift's objects are read again.
  Pass(45s);
  EXPECT_THAT(Requests(),
              ElementsAre(Pair("create events", kPods * kEventsOfAPod), Pair("list nodepools", 1),
                          Pair("list nodes", 1), Pair("update pods", kPods)));
  EXPECT_EQ(observer_.reconciles, 2 * kPods)
      << "also later: no pod may come back after its release";
}

// Two writes, and an event that says what the pod waits for.
TEST_F(PodRequestsTest, WithAGateOfAnotherController) {
  for (int i = 0; i < kPods; ++i) api_.Create<Pod>(Gated(i).Gate("kueue.x-k8s.io/admission"));
  kube::Drain(io_);
  EXPECT_EQ(StillGated(), kPods);
  Pass(30s);
  EXPECT_EQ(StillGated(), kPods);
  EXPECT_THAT(Requests(), ElementsAre(Pair("create events", kPods * kEventsOfAPod),
                                      Pair("get leases", 2), Pair("update pods", kPods)));
  EXPECT_EQ(observer_.reconciles, 2 * kPods) << "and one that finds nothing to do";

  begin_ = api_.calls().size();
  for (Pod pod : api_.List<Pod>()) {
    placement::DropGate(pod, "kueue.x-k8s.io/admission");
    api_.Update(pod);
  }
  kube::Drain(io_);
  EXPECT_EQ(StillGated(), 0);
  Pass(10s);
  EXPECT_THAT(Requests(), ElementsAre(Pair("create events", kPods), Pair("get leases", 2),
                                      Pair("list nodepools", 1), Pair("list nodes", 1),
                                      Pair("update pods", kPods)));
  EXPECT_EQ(observer_.reconciles, 3 * kPods);
  EXPECT_EQ(known_.size(), 0u);
}

// Scheduled, running, deleted: nothing more is done for a pod.
TEST_F(PodRequestsTest, AReleasedPodCostsNothing) {
  api_.Create<Pod>(Gated(1));
  Pass(10s);
  EXPECT_EQ(observer_.reconciles, 1);
  Requests();
  Pod pod = api_.Get<Pod>({"ns", "web-1"}).value();
  pod.mutable_spec()->set_node_name("node");
  api_.Update(pod);
  Pass(1s);
  api_.Delete<Pod>({"ns", "web-1"});
  Pass(45s);
  EXPECT_EQ(observer_.reconciles, 1);
  EXPECT_THAT(Requests(), ElementsAre());
}

}  // namespace
}  // namespace cluster_controller
