// SPDX-License-Identifier: Apache-2.0
#include "operator/teardown/own_namespace_teardown.h"

#include <gtest/gtest.h>

#include <optional>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"
#include "placement/gate.h"

namespace operator_ {
namespace {

using kube::Error;
using kube::Json;
using kube::MakePod;
using kube::Result;
using kube::core::Pod;
using namespace std::chrono_literals;

constexpr kube::Resource kClusterConfigs = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;

class OwnNamespaceTeardownTest : public testing::Test {
 protected:
  void SetUp() override {
    CreateNamespace("ops");
    CreateNamespace("shop");
    teardown_.OnDue([this] { ++due_calls_; });
    tasks_.Spawn("own-namespace", teardown_.Watch());
    kube::Drain(io_);
  }
  ~OwnNamespaceTeardownTest() override {
    Result<> stopped = kube::Run(io_, tasks_.Stop(kube::RealClock(), 1s));
    EXPECT_THAT(stopped, kube::IsOk());
  }
  // A finalizer keeps it with a deletionTimestamp, as a namespace with content.
  void CreateNamespace(const std::string& name) {
    Json ns = {{"apiVersion", "v1"}, {"kind", "Namespace"}};
    ns["metadata"] = {{"name", name}, {"finalizers", {"kubernetes"}}};
    api_.CreateJson(kube::kNamespaces, ns);
  }
  void DeleteNamespace(const std::string& name) {
    api_.DeleteJson(kube::kNamespaces, {"", name});
    kube::Drain(io_);
  }
  void Create(const kube::Resource& kind, const std::string& name, std::string_view manager) {
    Json object = {{"metadata", {{"name", name}}}};
    object["metadata"]["labels"][std::string(kManagedByLabel)] = std::string(manager);
    api_.CreateJson(kind, object);
  }
  void CreateWebhookConfiguration(const std::string& name, std::string_view manager) {
    Create(kube::kMutatingWebhookConfigurations, name, manager);
  }
  bool HasWebhookConfiguration(const std::string& name) {
    return api_.GetJson(kube::kMutatingWebhookConfigurations, {"", name}).has_value();
  }
  void CreateGated(const std::string& name, std::initializer_list<std::string_view> gates) {
    auto pod = MakePod(name).Phase("Pending");
    for (std::string_view gate : gates) pod.Gate(std::string(gate));
    api_.Create<Pod>(pod);
  }
  bool IsGated(const std::string& name) {
    return api_.Get<Pod>({"ns", name})->spec().scheduling_gates_size() > 0;
  }

  void Run(bool last = false) { tasks_.Spawn("teardown", RunInTask(last)); }
  boost::asio::awaitable<void> RunInTask(bool last) {
    co_await kube::IgnoreCancellation();
    result_ = co_await teardown_.Run(last);
  }
  void Pass(std::chrono::milliseconds time) {
    kube::Drain(io_);
    for (; time.count() > 0; time -= 50ms) {
      clock_.Advance(50ms);
      kube::Drain(io_);
    }
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  OwnNamespaceTeardown teardown_{api_, clock_, "ops"};
  int due_calls_ = 0;
  std::optional<Result<>> result_;
};

TEST_F(OwnNamespaceTeardownTest, IsDueWhenItsOwnNamespaceIsDeleted) {
  DeleteNamespace("shop");
  EXPECT_FALSE(teardown_.due());
  DeleteNamespace("ops");
  EXPECT_TRUE(teardown_.due());
  EXPECT_EQ(due_calls_, 1);
}

// The process has a few seconds once its namespace is being deleted.
TEST_F(OwnNamespaceTeardownTest, AfterAnOutageTheWatchIsSoonBack) {
  api_.Stop();
  Pass(80s);
  DeleteNamespace("ops");
  api_.Start();
  Pass(1200ms);
  EXPECT_TRUE(teardown_.due());
}

TEST_F(OwnNamespaceTeardownTest, AProcessThatEndsAsksForItself) {
  auto ask = [&] {
    tasks_.Spawn("ask", teardown_.Ask());
    kube::Drain(io_);
  };
  ask();
  EXPECT_FALSE(teardown_.due());
  api_.Stop();
  Pass(10s);
  DeleteNamespace("ops");
  ask();
  EXPECT_FALSE(teardown_.due()) << "no answer";
  api_.Start();
  ask();
  EXPECT_TRUE(teardown_.due());

  CreateGated("web", {api::kClusterGate, api::kLocalGate});
  Run(/*last=*/true);
  kube::Drain(io_);
  EXPECT_FALSE(IsGated("web"));
  EXPECT_TRUE(result_);
}

TEST_F(OwnNamespaceTeardownTest, NoPolicyGatesPodsAnyMore) {
  const kube::Resource kinds[] = {kube::kMutatingAdmissionPolicies,
                                  kube::kMutatingAdmissionPolicyBindings};
  for (const kube::Resource& kind : kinds) {
    Create(kind, "ours", kManagedBy);
    Create(kind, "of-another-product", "somebody");
  }
  Run();
  kube::Drain(io_);
  for (const kube::Resource& kind : kinds) {
    EXPECT_FALSE(api_.GetJson(kind, {"", "ours"}));
    EXPECT_TRUE(api_.GetJson(kind, {"", "of-another-product"}));
  }
}

// Before Kubernetes 1.36.
TEST_F(OwnNamespaceTeardownTest, AnApiServerNeedNotKnowPolicies) {
  api_.FailNext(Error::FromHttpStatus(404, "NotFound", "no such resource"), "/mutatingadmission",
                1000);
  CreateWebhookConfiguration("of-the-cluster", kManagedBy);
  Run();
  Pass(70s);
  EXPECT_FALSE(HasWebhookConfiguration("of-the-cluster"));
  ASSERT_TRUE(result_);
  EXPECT_THAT(*result_, kube::IsOk());
}

TEST_F(OwnNamespaceTeardownTest, NoPodIsGatedAnyMore) {
  CreateWebhookConfiguration("of-the-cluster", kManagedBy);
  CreateWebhookConfiguration("of-a-shard", kManagedBy);
  CreateWebhookConfiguration("of-another-product", "somebody");
  Run();
  kube::Drain(io_);
  EXPECT_FALSE(HasWebhookConfiguration("of-the-cluster"));
  EXPECT_FALSE(HasWebhookConfiguration("of-a-shard"));
  EXPECT_TRUE(HasWebhookConfiguration("of-another-product"));
  Pass(60s);
  EXPECT_FALSE(result_) << "API servers may still store a pod that was gated";
  Pass(10s);
  ASSERT_TRUE(result_);
  EXPECT_THAT(*result_, kube::IsOk());
}

TEST_F(OwnNamespaceTeardownTest, ControllersHaveAMomentToDrainTheirPods) {
  CreateGated("both", {api::kClusterGate, api::kLocalGate});
  CreateGated("cluster", {api::kClusterGate});
  CreateGated("local", {api::kLocalGate});
  CreateGated("of-another-product", {"example.com/gate"});
  Run();
  Pass(1900ms);
  EXPECT_TRUE(IsGated("both"));
  Pass(400ms);
  for (const char* pod : {"both", "cluster", "local"}) EXPECT_FALSE(IsGated(pod)) << pod;
  EXPECT_TRUE(IsGated("of-another-product"));
  EXPECT_FALSE(result_) << "another may have been gated meanwhile";
  CreateGated("late", {api::kClusterGate});
  Pass(300ms);
  EXPECT_FALSE(IsGated("late"));
  Pass(70s);
  EXPECT_TRUE(result_);
}

// A list that was read before an API server stopped gating proves nothing, however late it is used.
TEST_F(OwnNamespaceTeardownTest, AListThatBeganTooEarlyDoesNotEndTheTeardown) {
  for (int i = 0; i < 300; ++i)
    api_.Create<Pod>(MakePod("p" + std::to_string(1000 + i)).Phase("Pending"));
  bool slow = false;
  api_.BeforeEach([&](const std::string& call) {
    if (slow || call.find("continue=") == std::string::npos) return;
    slow = true;
    CreateGated("late", {api::kClusterGate});
    clock_.Advance(70s);
  });
  Run();
  kube::Drain(io_);
  ASSERT_TRUE(slow);
  EXPECT_FALSE(result_);
  Pass(5s);
  EXPECT_FALSE(IsGated("late"));
}

// An API server stores a pod up to its request timeout after the webhook patched it.
TEST_F(OwnNamespaceTeardownTest, PodsThatAreStoredLateAreUngated) {
  CreateWebhookConfiguration("of-the-cluster", kManagedBy);
  Run();
  Pass(55s);
  CreateGated("late", {api::kClusterGate, api::kLocalGate});
  Pass(5s);
  EXPECT_FALSE(IsGated("late"));
  Pass(10s);
  EXPECT_TRUE(result_);
}

TEST_F(OwnNamespaceTeardownTest, TheClustersConfigKeepsOnlyTheFinalizersOfOthers) {
  api_.CreateJson(kClusterConfigs, api::MakeClusterConfig()
                                       .Finalizer(api::kPodPlacementFinalizer)
                                       .Finalizer("example.com/other")
                                       .Finalizer(api::kNoPodPlacementConfigFinalizer)
                                       .Build());
  Run();
  Pass(3s);
  std::optional<Json> left = api_.GetJson(kClusterConfigs, {"", "cluster"});
  ASSERT_TRUE(left);
  EXPECT_EQ((*left)["metadata"]["finalizers"], Json::array({"example.com/other"}));
}

TEST_F(OwnNamespaceTeardownTest, RetriesAfterErrors) {
  CreateGated("web", {api::kClusterGate});
  api_.FailNext(Error::Unavailable("503"), "", 20);
  Run();
  Pass(10s);
  EXPECT_FALSE(IsGated("web"));
  Pass(70s);
  EXPECT_TRUE(result_);
}

TEST_F(OwnNamespaceTeardownTest, ARefusedWriteBlocksNoOtherStep) {
  CreateWebhookConfiguration("a", kManagedBy);
  CreateWebhookConfiguration("b", kManagedBy);
  CreateGated("refused", {api::kClusterGate});
  CreateGated("web", {api::kClusterGate});
  CreateGated("local", {api::kLocalGate});
  api_.FailNext(Error::PermissionDenied("no"), "mutatingwebhookconfigurations/a", 1000000);
  api_.FailNext(Error::PermissionDenied("no"), "PUT /api/v1/namespaces/ns/pods/refused", 1000000);
  Run();
  Pass(3s);
  EXPECT_FALSE(HasWebhookConfiguration("b"));
  EXPECT_FALSE(IsGated("web"));
  EXPECT_FALSE(IsGated("local"));
  EXPECT_TRUE(IsGated("refused"));
  EXPECT_FALSE(result_);
  Pass(90s);
  EXPECT_TRUE(result_) << "the teardown ends after give_up";
}

TEST_F(OwnNamespaceTeardownTest, WhenCancelledUngatesAtOnce) {
  CreateGated("web", {api::kClusterGate, api::kLocalGate});
  Run();
  Pass(100ms);
  ASSERT_TRUE(IsGated("web"));
  Result<> stopped = kube::Run(io_, tasks_.Stop(kube::RealClock(), 1s));
  EXPECT_THAT(stopped, kube::IsOk());
  EXPECT_FALSE(IsGated("web"));
  ASSERT_TRUE(result_);
  EXPECT_THAT(*result_, kube::IsOk());
}

}  // namespace
}  // namespace operator_
