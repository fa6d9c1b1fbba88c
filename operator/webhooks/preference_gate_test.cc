// SPDX-License-Identifier: Apache-2.0
#include "operator/webhooks/preference_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "operator/objects/gating_policies.h"
#include "operator/objects/webhook_configurations.h"

namespace operator_ {
namespace {

using api::MakeClusterConfig;
using kube::Code;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using namespace std::chrono_literals;

const kube::ObjectKey kConfiguration{"", std::string(api::kMutatingWebhookConfigurationName)};
const OperandOptions kOptions{.ns = "ops", .ns_uid = "uid-of-ops"};

class PreferenceGateTest : public testing::Test {
 protected:
  ~PreferenceGateTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  // As the operator that leads does.
  void WriteWebhooks(const std::vector<std::string>& preferring_namespaces,
                     const api::ClusterPodPlacementConfig& config = MakeClusterConfig(),
                     bool places = false) {
    const kube::Resource& resource = kube::kMutatingWebhookConfigurations;
    kube::Json object =
        ClusterWebhookConfiguration(config, preferring_namespaces, "PEM", kOptions, places);
    bool exists = api_.GetJson(resource, kConfiguration).has_value();
    exists ? api_.UpdateJson(resource, object) : api_.CreateJson(resource, object);
  }
  void WritePolicies(const std::vector<std::string>& preferring_namespaces) {
    for (const DesiredObject& object :
         ClusterGatingPolicies(MakeClusterConfig(), preferring_namespaces, kOptions)) {
      if (!object.wanted) continue;
      bool exists = api_.GetJson(object.resource, object.Key()).has_value();
      exists ? api_.UpdateJson(object.resource, object.body)
             : api_.CreateJson(object.resource, object.body);
    }
  }
  // Begins to wait for the gate of "shop".
  void Await() {
    tasks_.Spawn("await", [](PreferenceGateTest* test) -> boost::asio::awaitable<void> {
      std::string ns = "shop";
      Result<> gated = co_await test->gate_.Await(std::move(ns), test->clock_.Now() + 2s);
      test->ended_.emplace(std::move(gated));
    }(this));
    kube::Drain(io_);
  }
  void Pass(std::chrono::milliseconds time) {
    for (; time > 0ms; time -= 50ms) {
      clock_.Advance(50ms);
      kube::Drain(io_);
    }
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  PreferenceGate gate_{api_, clock_};
  std::optional<Result<>> ended_;
};

TEST_F(PreferenceGateTest, WaitsForTheEntryOfTheNamespaceAndForTheApiServers) {
  WriteWebhooks({"farm"});
  Await();
  Pass(500ms);
  EXPECT_FALSE(ended_);
  WriteWebhooks({"farm", "shop"});
  Pass(PreferenceGate::kConfigurationApplied);
  EXPECT_FALSE(ended_);
  Pass(PreferenceGate::kReadEvery);
  ASSERT_TRUE(ended_);
  EXPECT_THAT(*ended_, IsOk());
}

TEST_F(PreferenceGateTest, WaitsForTheFirstEntryOfAll) {
  WriteWebhooks({});
  Await();
  Pass(500ms);
  EXPECT_FALSE(ended_);
  WriteWebhooks({"shop"});
  Pass(500ms);
  ASSERT_TRUE(ended_);
  EXPECT_THAT(*ended_, IsOk());
}

TEST_F(PreferenceGateTest, WaitsForThePolicy) {
  WritePolicies({});
  Await();
  Pass(500ms);
  EXPECT_FALSE(ended_);
  WritePolicies({"shop"});
  Pass(1000ms);
  EXPECT_FALSE(ended_) << "API servers read policies once a second";
  Pass(500ms);
  ASSERT_TRUE(ended_);
  EXPECT_THAT(*ended_, IsOk());
}

TEST_F(PreferenceGateTest, DoesNotWaitWithoutGates) {
  Await();
  ASSERT_TRUE(ended_);
  EXPECT_THAT(*ended_, IsOk());
}

TEST_F(PreferenceGateTest, WithPreferencesOfTheClusterAllPodsAreGated) {
  WriteWebhooks({}, MakeClusterConfig().Prefer("arm64", 5));
  Await();
  Pass(PreferenceGate::kConfigurationApplied);
  ASSERT_TRUE(ended_);
  EXPECT_THAT(*ended_, IsOk());
}

TEST_F(PreferenceGateTest, WaitsUntilPodsAreNotPlacedAtTheirCreation) {
  const api::ClusterPodPlacementConfig config = MakeClusterConfig().Prefer("arm64", 5);
  WriteWebhooks({"farm"}, config, /*places=*/true);
  Await();
  Pass(500ms);
  EXPECT_FALSE(ended_);
  WriteWebhooks({"farm", "shop"}, config, /*places=*/true);
  Pass(500ms);
  ASSERT_TRUE(ended_);
  EXPECT_THAT(*ended_, IsOk());
}

// While no operator leads.
TEST_F(PreferenceGateTest, GivesUp) {
  WriteWebhooks({});
  Await();
  Pass(2s);
  ASSERT_TRUE(ended_);
  EXPECT_THAT(*ended_, FailsWith(Code::kDeadlineExceeded));
  EXPECT_LE(api_.CountCalls("mutatingwebhookconfigurations"), 20);
}

TEST_F(PreferenceGateTest, ReviewsAtTheSameTimeShareTheReads) {
  WriteWebhooks({});
  for (int i = 0; i < 50; ++i) Await();
  EXPECT_LE(api_.CountCalls("mutatingwebhookconfigurations"), 50);
  int calls = api_.CountCalls("mutatingwebhookconfigurations");
  Pass(1s);
  EXPECT_LE(api_.CountCalls("mutatingwebhookconfigurations"), calls + 20);
}

}  // namespace
}  // namespace operator_
