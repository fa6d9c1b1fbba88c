// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/operand_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

using kube::Json;
using namespace std::chrono_literals;

class OperandStoreTest : public testing::Test {
 protected:
  void SetUp() override { Start(); }
  void TearDown() override { Stop(); }
  void Start() {
    store_ = std::make_unique<OperandStore>(api_, clock_);
    tasks_ = std::make_unique<kube::TaskGroup>(io_.get_executor());
    store_->Start(*tasks_);
    ASSERT_THAT(kube::Run(io_, store_->WaitForSync()), kube::IsOk());
  }
  void Stop() {
    ASSERT_THAT(kube::Run(io_, tasks_->Stop(kube::RealClock(), 5s)), kube::IsOk());
    store_.reset();
  }
  DesiredObject Role(const char* verb) {
    Json role = NewObject(kube::kRoles, "ns", "r");
    SetLabel(role, kShardNamespaceLabel, "ns");
    role["rules"] = Json::array({Json{{"verbs", Json::array({verb})}}});
    return {kube::kRoles, role};
  }
  DesiredObject Deployment() {
    Json deployment = NewObject(kube::kDeployments, "ns", "d");
    SetLabel(deployment, kShardNamespaceLabel, "ns");
    deployment["metadata"]["ownerReferences"] = Json::array({{{"name", "ours"}}});
    deployment["spec"]["replicas"] = 1;
    return {kube::kDeployments, deployment};
  }
  DesiredObject Budget() {
    return {kube::kPodDisruptionBudgets, NewObject(kube::kPodDisruptionBudgets, "ns", "b")};
  }
  // How many calls it costs.
  int Ensure(DesiredObject object) {
    int before = api_.CountCalls("PATCH");
    EXPECT_THAT(kube::Run(io_, store_->Ensure(std::move(object), "log")), kube::IsOk());
    kube::Drain(io_);
    return api_.CountCalls("PATCH") - before;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  std::unique_ptr<OperandStore> store_;
  std::unique_ptr<kube::TaskGroup> tasks_;
};

TEST_F(OperandStoreTest, WritesOnlyMissingOrDifferentObjects) {
  EXPECT_EQ(Ensure(Role("get")), 1);
  EXPECT_EQ(Ensure(Role("get")), 0);
  EXPECT_EQ(Ensure(Role("list")), 1);
  EXPECT_EQ((*api_.GetJson(kube::kRoles, {"ns", "r"}))["rules"][0]["verbs"], Json::array({"list"}));
}

TEST_F(OperandStoreTest, AnObjectThatIsNotWantedIsRemovedOnce) {
  DesiredObject unwanted = Role("get");
  unwanted.wanted = false;
  EXPECT_EQ(Ensure(unwanted), 0);
  EXPECT_EQ(api_.CountCalls("DELETE"), 0);
  Ensure(Role("get"));
  EXPECT_EQ(Ensure(unwanted), 0);
  EXPECT_FALSE(api_.GetJson(kube::kRoles, {"ns", "r"}));
  Ensure(unwanted);
  EXPECT_EQ(api_.CountCalls("DELETE"), 1);
}

// An annotation on the object cannot prevent this: the owner of its namespace may write all of it.
TEST_F(OperandStoreTest, AChangeDuringAnEarlierTermIsMended) {
  Ensure(Role("get"));
  Stop();
  Json role = *api_.GetJson(kube::kRoles, {"ns", "r"});
  role["rules"][0]["verbs"] = Json::array({"list"});
  api_.UpdateJson(kube::kRoles, role);
  Start();
  EXPECT_EQ(Ensure(Role("get")), 1);
  EXPECT_EQ((*api_.GetJson(kube::kRoles, {"ns", "r"}))["rules"][0]["verbs"], Json::array({"get"}));
  EXPECT_EQ(Ensure(Role("get")), 0);
}

TEST_F(OperandStoreTest, ANewStoreWritesNothingThatIsRight) {
  Ensure(Role("get"));
  Ensure(Deployment());
  Ensure(Budget());
  Stop();
  uint64_t version = api_.resource_version();
  Start();
  EXPECT_EQ(Ensure(Role("get")), 0);
  EXPECT_EQ(Ensure(Deployment()), 0);
  EXPECT_EQ(Ensure(Budget()), 0);
  EXPECT_EQ(api_.resource_version(), version);
}

// Here: one that drops a null.
TEST_F(OperandStoreTest, AValueThatTheApiServerRewritesIsAppliedOnce) {
  Ensure(Role("get"));
  DesiredObject role = Role("list");
  role.body["aggregationRule"] = nullptr;
  EXPECT_EQ(Ensure(role), 1);
  EXPECT_EQ(Ensure(role), 0);
}

TEST_F(OperandStoreTest, AManualChangeIsMended) {
  Ensure(Deployment());
  struct Row {
    const char* name;
    std::function<void(Json&)> change;
    int calls;
  };
  const Row rows[] = {
      {"spec", [](Json& object) { object["spec"]["replicas"] = 0; }, 1},
      {"label",
       [](Json& object) {
         object["metadata"]["labels"][std::string(kShardNamespaceLabel)] = "other";
       },
       1},
      {"owner",
       [](Json& object) {
         object["metadata"]["ownerReferences"] = Json::array({{{"name", "mine"}}});
       },
       1},
      {"another label", [](Json& object) { object["metadata"]["labels"]["team"] = "a"; }, 0},
      {"managed fields", [](Json& object) { object["metadata"].erase("managedFields"); }, 1},
      {"status", [](Json& object) { object["status"]["availableReplicas"] = 1; }, 0},
      {"revision",
       [](Json& object) {
         object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "7";
       },
       0},
  };
  for (const Row& row : rows) {
    Json object = *api_.GetJson(kube::kDeployments, {"ns", "d"});
    row.change(object);
    api_.UpdateJson(kube::kDeployments, object);
    kube::Drain(io_);
    EXPECT_EQ(Ensure(Deployment()), row.calls) << row.name;
    EXPECT_EQ(Ensure(Deployment()), 0) << row.name;
    Json right = *api_.GetJson(kube::kDeployments, {"ns", "d"});
    EXPECT_EQ(right["spec"]["replicas"], 1) << row.name;
    EXPECT_EQ(right["metadata"]["labels"][std::string(kShardNamespaceLabel)], "ns") << row.name;
  }
}

// Fields of other managers stay, and cause no write.
TEST_F(OperandStoreTest, AFieldOfAnotherManagerStays) {
  Ensure(Deployment());
  Json object = *api_.GetJson(kube::kDeployments, {"ns", "d"});
  object["spec"]["template"]["metadata"]["annotations"]["kubectl.kubernetes.io/restartedAt"] =
      "today";
  api_.UpdateJson(kube::kDeployments, object);
  kube::Drain(io_);
  EXPECT_EQ(Ensure(Deployment()), 0);
}

TEST_F(OperandStoreTest, NotifiesOfChangesWithTheShardsNamespace) {
  std::vector<std::string> namespaces;
  store_->OnChange(
      [&](const kube::Unstructured& object) { namespaces.push_back(ShardNamespaceOf(object)); });
  Ensure(Role("get"));
  EXPECT_EQ(namespaces, std::vector<std::string>{"ns"});
  EXPECT_EQ(store_->ShardNamespaces(), std::vector<std::string>{"ns"});
}

// A tenant can label an object of his namespace.
TEST_F(OperandStoreTest, TheLabelOfAnotherNamespaceDoesNotCount) {
  Json role = Role("get").body;
  role["metadata"]["name"] = "mine";
  role["metadata"]["namespace"] = "tenant";
  api_.CreateJson(kube::kRoles, role);
  kube::Drain(io_);
  EXPECT_TRUE(store_->Get(kube::kRoles, {"tenant", "mine"}));
  EXPECT_TRUE(store_->ShardNamespaces().empty());
}

TEST_F(OperandStoreTest, ObjectsOfOtherManagersAreIgnored) {
  api_.CreateJson(kube::kRoles, Json{{"metadata", {{"name", "theirs"}, {"namespace", "ns"}}}});
  kube::Drain(io_);
  EXPECT_FALSE(store_->Get(kube::kRoles, {"ns", "theirs"}));
}

// The operator may read these by their names alone.
TEST_F(OperandStoreTest, ValidatingConfigurationsOfFeaturesAreWatchedByTheirNames) {
  EXPECT_FALSE(store_->WatchValidating("one"));
  EXPECT_FALSE(store_->WatchValidating("two"));
  kube::Drain(io_);
  EXPECT_TRUE(store_->WatchValidating("one"));
  EXPECT_TRUE(store_->WatchValidating("two"));
  auto configuration = [](const std::string& name, const char* path) {
    Json object = NewObject(kube::kValidatingWebhookConfigurations, "", name);
    object["webhooks"] = Json::array({Json{{"name", path}}});
    return DesiredObject{kube::kValidatingWebhookConfigurations, object};
  };
  DesiredObjects both = {configuration("one", "a"), configuration("two", "a")};
  EXPECT_FALSE(store_->HasAny(both));
  EXPECT_EQ(Ensure(both[0]), 1);
  EXPECT_EQ(Ensure(both[0]), 0);
  EXPECT_TRUE(store_->HasAny(both));
  EXPECT_FALSE(store_->Get(kube::kValidatingWebhookConfigurations, {"", "two"}));
  EXPECT_EQ(Ensure(both[1]), 1);
  EXPECT_EQ(Ensure(configuration("two", "b")), 1);
  EXPECT_TRUE(store_->Get(kube::kValidatingWebhookConfigurations, {"", "two"}));
}

// A ClusterRole of before the feature.
TEST_F(OperandStoreTest, AValidatingConfigurationThatMayNotBeWatchedStopsNothing) {
  api_.FailNext(kube::Error::PermissionDenied("403"), "metadata.name%3Done", 1'000'000);
  EXPECT_FALSE(store_->WatchValidating("one"));
  kube::Drain(io_);
  clock_.Advance(60s);
  kube::Drain(io_);
  EXPECT_FALSE(store_->WatchValidating("one"));
  EXPECT_EQ(Ensure(Role("get")), 1);
}

TEST_F(OperandStoreTest, KindsThatAreNotWatchedAreReadEveryHour) {
  EXPECT_EQ(Ensure(Budget()), 1);
  Json budget = *api_.GetJson(kube::kPodDisruptionBudgets, {"ns", "b"});
  budget["metadata"]["labels"][std::string(kManagedByLabel)] = "changed";
  api_.UpdateJson(kube::kPodDisruptionBudgets, budget);
  EXPECT_EQ(Ensure(Budget()), 0);
  clock_.Advance(61min);
  EXPECT_EQ(Ensure(Budget()), 1);
  clock_.Advance(61min);
  EXPECT_EQ(Ensure(Budget()), 0);
}

TEST_F(OperandStoreTest, DeletingAMissingObjectIsNoError) {
  EXPECT_THAT(kube::Run(io_, store_->Remove(kube::kRoles, {"ns", "none"}, "log")), kube::IsOk());
}

TEST_F(OperandStoreTest, ErrorsNameTheObject) {
  api_.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "exceeded quota"), "PATCH");
  EXPECT_THAT(kube::Run(io_, store_->Ensure(Role("get"), "log")),
              kube::FailsWith(kube::Code::kPermissionDenied, testing::HasSubstr("Role ns/r")));
}

}  // namespace
}  // namespace operator_
