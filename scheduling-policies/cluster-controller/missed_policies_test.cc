// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/cluster-controller/missed_policies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/scheduling_policy.h"

namespace policy {
namespace {

using kube::Json;
using kube::core::Pod;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

class MissedPoliciesTest : public testing::Test {
 protected:
  MissedPoliciesTest() {
    CreateNamespace("ns", "");
    Json policy = {{"metadata", {{"name", "disks"}, {"namespace", "ns"}}}};
    policy["spec"]["podSelector"]["matchLabels"]["app"] = "db";
    policy["spec"]["nodeSelector"]["disk"] = "fast";
    api_.CreateJson(kPodSchedulingPolicies, policy);
    Json all = {{"metadata", {{"name", "all"}}}};
    all["spec"]["podSelector"] = Json::object();
    all["spec"]["namespaceSelector"] = Json::object();
    all["spec"]["nodeSelector"]["pool"] = "a";
    api_.CreateJson(kClusterPodSchedulingPolicies, all);
    tasks_.Spawn("policies", policies_.Run());
    kube::Drain(io_);
  }
  ~MissedPoliciesTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }

  void CreateNamespace(const std::string& name, const std::string& role) {
    kube::core::Namespace ns;
    ns.mutable_metadata()->set_name(name);
    if (!role.empty()) (*ns.mutable_metadata()->mutable_labels())["role"] = role;
    api_.Create(ns);
  }
  void Follow(Json plugin) {
    auto config = api::ClusterPodPlacementConfig::FromJson(
        {{"spec", {{"plugins", {{"schedulingPolicies", std::move(plugin)}}}}}});
    ASSERT_TRUE(config);
    policies_.Follow(&*config);
  }
  // The keys of the node selector.
  std::vector<std::string> Selected(Pod pod) {
    events_.clear();
    policies_.AddTo(pod, events_);
    std::vector<std::string> keys;
    for (const auto& [key, value] : pod.spec().node_selector()) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    return keys;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  MissedPolicies policies_{api_, clock_, "operator-ns"};
  std::vector<placement::PodEvent> events_;
};

TEST_F(MissedPoliciesTest, WithoutThePluginNothingIsRead) {
  policies_.Follow(nullptr);
  Follow({{"enabled", false}});
  kube::Drain(io_);
  EXPECT_EQ(api_.CountCalls(""), 0);
  EXPECT_EQ(policies_.WaitLeft(), 0s);
  EXPECT_THAT(Selected(kube::MakePod("a")), IsEmpty());
}

TEST_F(MissedPoliciesTest, AddsWhatSelectsThePodAndSaysSo) {
  Follow({{"enabled", true}});
  EXPECT_EQ(policies_.WaitLeft(), MissedPolicies::kListWithin);
  kube::Drain(io_);
  EXPECT_EQ(policies_.WaitLeft(), 0s);
  EXPECT_THAT(Selected(kube::MakePod("a").Label("app", "db")), ElementsAre("disk", "pool"));
  ASSERT_EQ(events_.size(), 1u);
  EXPECT_EQ(events_[0].reason, kReasonPoliciesAdded);
  EXPECT_EQ(events_[0].message,
            "The pod was created without its scheduling policies: added spec.nodeSelector of "
            "ClusterPodSchedulingPolicy all, PodSchedulingPolicy ns/disks");
  EXPECT_THAT(Selected(kube::MakePod("a")), ElementsAre("pool"));
  Pod settled = kube::MakePod("a").NodeSelector("pool", "b");
  EXPECT_THAT(Selected(settled), ElementsAre("pool"));
  EXPECT_THAT(events_, IsEmpty());

  Follow({{"enabled", false}});
  EXPECT_THAT(Selected(kube::MakePod("a")), IsEmpty());
  Follow({{"enabled", true}});
  EXPECT_EQ(policies_.WaitLeft(), 0s);
  EXPECT_THAT(Selected(kube::MakePod("a")), ElementsAre("pool"));
}

TEST_F(MissedPoliciesTest, NamespacesThatPoliciesLeaveAloneStayAlone) {
  CreateNamespace("kube-system", "");
  CreateNamespace("operator-ns", "");
  CreateNamespace("system", "kube-system");
  CreateNamespace("other", "");
  Follow({{"enabled", true}});
  kube::Drain(io_);
  for (const char* ns : {"kube-system", "operator-ns", "system", "unknown"})
    EXPECT_THAT(Selected(kube::MakePod("a").Namespace(ns)), IsEmpty()) << ns;
  EXPECT_THAT(Selected(kube::MakePod("a").Namespace("other")), ElementsAre("pool"));
}

// A gated pod must not wait for ever, whatever the API server says to the list.
TEST_F(MissedPoliciesTest, PodsWaitOnlySomeSecondsForTheList) {
  api_.FailNext(kube::Error::Unavailable("503"), "podschedulingpolicies", 1000);
  Follow({{"enabled", true}});
  kube::Drain(io_);
  EXPECT_GT(policies_.WaitLeft(), 0s);
  clock_.Advance(MissedPolicies::kListWithin);
  EXPECT_EQ(policies_.WaitLeft(), 0s);
}

}  // namespace
}  // namespace policy
