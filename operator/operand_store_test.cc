// SPDX-License-Identifier: Apache-2.0
#include "operator/operand_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "operator/objects/kinds.h"
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
    Json role = NewObject(kRoles, "ns", "r");
    SetLabel(role, kShardNamespaceLabel, "ns");
    role["rules"] = Json::array({Json{{"verbs", Json::array({verb})}}});
    return {kRoles, role};
  }
  int Ensure(DesiredObject object) {
    int before = api_.CountCalls("PATCH");
    EXPECT_THAT(kube::Run(io_, store_->Ensure(std::move(object))), kube::IsOk());
    kube::Drain(io_);
    return api_.CountCalls("PATCH") - before;
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  std::unique_ptr<OperandStore> store_;
  std::unique_ptr<kube::TaskGroup> tasks_;
};

TEST_F(OperandStoreTest, WritesWhatIsNotThereOrDiffersAndNothingElse) {
  EXPECT_EQ(Ensure(Role("get")), 1);
  EXPECT_EQ(Ensure(Role("get")), 0);
  EXPECT_EQ(Ensure(Role("list")), 1);
  EXPECT_EQ((*api_.GetJson(kRoles, {"ns", "r"}))["rules"][0]["verbs"], Json::array({"list"}));
}

TEST_F(OperandStoreTest, ANewStoreTrustsTheHash) {
  Ensure(Role("get"));
  Stop();
  Start();
  EXPECT_EQ(Ensure(Role("get")), 0);
  EXPECT_EQ(Ensure(Role("list")), 1);
}

TEST_F(OperandStoreTest, TellsOfChangesAndWhoseTheyAre) {
  std::vector<std::string> told;
  store_->OnChange([&](const kube::Unstructured& object) { told.push_back(ShardNamespaceOf(object)); });
  Ensure(Role("get"));
  EXPECT_EQ(told, std::vector<std::string>{"ns"});
  EXPECT_EQ(store_->ShardNamespaces(), std::vector<std::string>{"ns"});
}

TEST_F(OperandStoreTest, ObjectsOfOthersAreNotSeen) {
  api_.CreateJson(kRoles, Json{{"metadata", {{"name", "theirs"}, {"namespace", "ns"}}}});
  kube::Drain(io_);
  EXPECT_FALSE(store_->Get(kRoles, {"ns", "theirs"}));
}

TEST_F(OperandStoreTest, KindsThatAreNotWatchedAreAppliedAnewEveryHour) {
  DesiredObject budget{kPodDisruptionBudgets, NewObject(kPodDisruptionBudgets, "ns", "b")};
  EXPECT_EQ(Ensure(budget), 1);
  EXPECT_EQ(Ensure(budget), 0);
  clock_.Advance(61min);
  EXPECT_EQ(Ensure(budget), 1);
}

TEST_F(OperandStoreTest, NothingToDeleteIsNoError) {
  EXPECT_THAT(kube::Run(io_, store_->Remove(kRoles, {"ns", "none"})), kube::IsOk());
}

TEST_F(OperandStoreTest, ErrorsNameTheObject) {
  api_.FailNext(kube::Error::FromHttpStatus(403, "Forbidden", "exceeded quota"), "PATCH");
  EXPECT_THAT(kube::Run(io_, store_->Ensure(Role("get"))),
              kube::FailsWith(kube::Code::kPermissionDenied, testing::HasSubstr("Role ns/r")));
}

}  // namespace
}  // namespace operator_
