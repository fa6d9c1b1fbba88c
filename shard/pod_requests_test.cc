// SPDX-License-Identifier: Apache-2.0
// What a pod costs its shard: one write, its events, and for many pods together one read of
// announcements; one reconcile, which is one decoding of the pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <map>
#include <string>

#include "api/names.h"
#include "api/pod_placement_config.h"
#include "api/testing/make_config.h"
#include "kube/base/task_group.h"
#include "kube/metrics/metrics.h"
#include "kube/testing/call_kind.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "placement/gate.h"
#include "shard/namespace_controller.h"

namespace shard {
namespace {

using kube::MakePod;
using kube::core::Pod;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using namespace std::chrono_literals;

constexpr int kPods = 200;
// Preferences set, gate removed.
constexpr int kEventsOfAPod = 2;

class PodRequestsTest : public testing::Test {
 protected:
  void SetUp() override {
    api_.Create<api::PodPlacementConfig>(api::MakeConfig("arm64-first").Prefer("arm64", 75));
    controller_.Start(tasks_, tasks_);
    controller_.SetLeading(true);
    Pass(1s);
    begin_ = api_.calls().size();
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
  Pod Gated(int number) {
    return MakePod("web-" + std::to_string(number))
        .Gate(api::kLocalGate)
        .Gate(api::kClusterGate)
        .Annotation(api::kLocalConfigsAnnotation, "arm64-first")
        .Phase("Pending");
  }
  // Since the last call.
  std::map<std::string, int> Requests() { return kube::CountKinds(api_.calls(), begin_); }
  int StillGated() {
    int gated = 0;
    for (const Pod& pod : api_.List<Pod>()) gated += placement::HasGate(pod, api::kLocalGate);
    return gated;
  }
  void ExpectReconciles(int count) {
    EXPECT_THAT(metrics_.Render(),
                HasSubstr("controller_runtime_reconcile_total{controller=\"shard-pod\",result="
                          "\"success\"} " +
                          std::to_string(count) + "\n"));
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::Metrics metrics_;
  kube::TaskGroup tasks_{io_.get_executor()};
  NamespaceController controller_{api_, clock_, metrics_, "ns"};
  size_t begin_ = 0;  // of the requests for pods
};

TEST_F(PodRequestsTest, InABurst) {
  for (int i = 0; i < kPods; ++i) api_.Create(Gated(i));
  kube::Drain(io_);
  EXPECT_EQ(StillGated(), 0);
  Pass(10s);
  // Announcements are read for the first pod, and once more for those that came meanwhile.
  EXPECT_THAT(Requests(), ElementsAre(Pair("create events", kPods * kEventsOfAPod),
                                      Pair("get leases", 2), Pair("update pods", kPods)));
  ExpectReconciles(kPods);
}

TEST_F(PodRequestsTest, AtASteadyRate) {
  for (int i = 0; i < kPods; ++i) {
    api_.Create(Gated(i));
    Pass(20ms);
  }
  EXPECT_EQ(StillGated(), 0);
  // As the cluster controller does.
  for (int i = 0; i < kPods; ++i) {
    Pod pod = api_.Get<Pod>({"ns", "web-" + std::to_string(i)}).value();
    placement::DropGate(pod, api::kClusterGate);
    api_.Update(pod);
  }
  Pass(60s);
  // 4 s: one read of announcements in 0.2 s.
  EXPECT_THAT(Requests(), ElementsAre(Pair("create events", kPods * kEventsOfAPod),
                                      Pair("get leases", 20), Pair("update pods", kPods)));
  ExpectReconciles(kPods);
}

}  // namespace
}  // namespace shard
