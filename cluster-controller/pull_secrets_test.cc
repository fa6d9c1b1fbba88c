// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pull_secrets.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/testing/slow_client.h"
#include "placement/images.h"

namespace cluster_controller {
namespace {

using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::MakePod;
using namespace std::chrono_literals;

kube::core::Secret MakeSecret(const std::string& ns, const std::string& name,
                              const std::string& user) {
  kube::core::Secret secret;
  secret.mutable_metadata()->set_namespace_(ns);
  secret.mutable_metadata()->set_name(name);
  secret.set_type(std::string(inspection::kDockerConfigJsonType));
  (*secret.mutable_data())[".dockerconfigjson"] =
      R"({"auths":{"r.io":{"username":")" + user + R"(","password":"p"}}})";
  return secret;
}

class PullSecretsTest : public testing::Test {
 protected:
  // The user names that a pod of namespace "ns" with these secrets has for r.io.
  std::vector<std::string> Users(const kube::core::Pod& pod) {
    auto keyring =
        kube::Run(io_, secrets_.For(pod.metadata().namespace_(), placement::PullSecretsOf(pod)));
    EXPECT_THAT(keyring, IsOk());
    std::vector<std::string> users;
    if (!keyring || *keyring == nullptr) return users;
    for (auto& credential : (*keyring)->Match("r.io", "app")) users.push_back(credential.username);
    return users;
  }
  kube::asio::awaitable<void> AskAndCount() {
    std::string ns = "ns";
    std::vector<std::string> names = {"a"};
    auto keyring = co_await secrets_.For(std::move(ns), std::move(names));
    answered_ += keyring && *keyring != nullptr ? 1 : 0;
  }
  void Follow(kube::ObjectKey global) {
    secrets_.SetGlobal(std::move(global));
    if (tasks_.size() == 0) tasks_.Spawn("global", secrets_.Run());
    kube::Drain(io_);
  }
  ~PullSecretsTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  PullSecrets secrets_{api_, clock_};
  kube::TaskGroup tasks_{io_.get_executor()};
  int answered_ = 0;
};

using Strings = std::vector<std::string>;

TEST_F(PullSecretsTest, ReadsThePodsSecretsInOrderThenTheGlobalOne) {
  api_.Create(MakeSecret("ns", "a", "ann"));
  api_.Create(MakeSecret("ns", "b", "bob"));
  api_.Create(MakeSecret("ops", "all", "eve"));
  secrets_.SetGlobal({"ops", "all"});
  EXPECT_EQ(Users(MakePod("web").PullSecret("b").PullSecret("a")), (Strings{"bob", "ann", "eve"}));
}

TEST_F(PullSecretsTest, AMissingSecretOrOneOfAnotherTypeIsSkipped) {
  kube::core::Secret opaque = MakeSecret("ns", "opaque", "mallory");
  opaque.set_type("Opaque");
  api_.Create(opaque);
  EXPECT_EQ(Users(MakePod("web").PullSecret("nowhere").PullSecret("opaque")), Strings{});
}

// The pods of a Deployment cost two reads: the one in flight, and one that starts after all calls.
TEST_F(PullSecretsTest, ConcurrentCallsShareARead) {
  api_.Create(MakeSecret("ns", "a", "ann"));
  for (int i = 0; i < 200; ++i) tasks_.Spawn("ask", AskAndCount());
  kube::Drain(io_);
  EXPECT_EQ(answered_, 200);
  EXPECT_LE(api_.CountCalls("GET"), 2);
}

TEST_F(PullSecretsTest, ADeletedOrChangedSecretIsNotUsedAnyMore) {
  api_.Create(MakeSecret("ns", "a", "ann"));
  EXPECT_EQ(Users(MakePod("web").PullSecret("a")), Strings{"ann"});
  api_.Update(MakeSecret("ns", "a", "bob"));
  EXPECT_EQ(Users(MakePod("web").PullSecret("a")), Strings{"bob"});
  api_.Delete<kube::core::Secret>({"ns", "a"});
  EXPECT_EQ(Users(MakePod("web").PullSecret("a")), Strings{});
}

TEST_F(PullSecretsTest, TheGlobalSecretIsWatchedByItsName) {
  api_.Create(MakeSecret("ops", "all", "eve"));
  Follow({"ops", "all"});
  EXPECT_EQ(Users(MakePod("web")), Strings{"eve"});
  api_.Update(MakeSecret("ops", "all", "mia"));
  kube::Drain(io_);
  EXPECT_EQ(Users(MakePod("web")), Strings{"mia"});
  api_.Delete<kube::core::Secret>({"ops", "all"});
  kube::Drain(io_);
  EXPECT_EQ(Users(MakePod("web")), Strings{});
  api_.Create(MakeSecret("ops", "all", "zoe"));
  kube::Drain(io_);
  EXPECT_EQ(Users(MakePod("web")), Strings{"zoe"});
  EXPECT_EQ(api_.CountCalls("GET"), 0);
  EXPECT_EQ(
      api_.CountCalls("WATCH /api/v1/namespaces/ops/secrets?fieldSelector=metadata.name%3Dall"), 1);
}

TEST_F(PullSecretsTest, AnotherGlobalSecretReplacesTheFirst) {
  api_.Create(MakeSecret("ops", "one", "ann"));
  api_.Create(MakeSecret("other", "two", "bob"));
  Follow({"ops", "one"});
  EXPECT_EQ(Users(MakePod("web")), Strings{"ann"});
  // Also before its watch has synced.
  secrets_.SetGlobal({"other", "two"});
  EXPECT_EQ(Users(MakePod("web")), Strings{"bob"});
  kube::Drain(io_);
  EXPECT_EQ(Users(MakePod("web")), Strings{"bob"});
  api_.Update(MakeSecret("ops", "one", "mia"));
  kube::Drain(io_);
  EXPECT_EQ(Users(MakePod("web")), Strings{"bob"});
  EXPECT_EQ(api_.open_watches(), 1);
  Follow({});
  EXPECT_EQ(Users(MakePod("web")), Strings{});
  EXPECT_EQ(api_.open_watches(), 0);
}

// Without the permission to watch, or while watches fail.
TEST_F(PullSecretsTest, TheGlobalSecretIsReadIfItCannotBeWatched) {
  api_.Create(MakeSecret("ops", "all", "eve"));
  api_.FailNext(Error::PermissionDenied("no"), "WATCH", 1000);
  Follow({"ops", "all"});
  EXPECT_EQ(Users(MakePod("web")), Strings{"eve"});
  api_.Delete<kube::core::Secret>({"ops", "all"});
  EXPECT_EQ(Users(MakePod("web")), Strings{});
}

TEST_F(PullSecretsTest, ABrokenWatchIsNotUsed) {
  api_.Create(MakeSecret("ops", "all", "eve"));
  Follow({"ops", "all"});
  EXPECT_EQ(Users(MakePod("web")), Strings{"eve"});
  api_.FailNext(Error::PermissionDenied("no more"), "WATCH", 1000);
  api_.CloseWatches();
  kube::Drain(io_);
  api_.Delete<kube::core::Secret>({"ops", "all"});
  EXPECT_EQ(Users(MakePod("web")), Strings{});
}

TEST_F(PullSecretsTest, ASecretThatIsTooLargeIsNamed) {
  kube::core::Secret huge = MakeSecret("ns", "huge", std::string(100'000, 'x'));
  api_.Create(huge);
  api_.Create(MakeSecret("ns", "a", "ann"));
  auto keyring = kube::Run(io_, secrets_.For("ns", {"huge", "a"}));
  ASSERT_THAT(keyring, IsOk());
  EXPECT_EQ((*keyring)->problem(), "pull secret ns/huge is larger than 64 KiB");
  EXPECT_EQ((*keyring)->size(), 1u);
}

TEST_F(PullSecretsTest, NamesAreLimitedAndUnique) {
  MakePod pod("web");
  for (int i = 0; i < 100; ++i) pod.PullSecret("s" + std::to_string(i / 2));
  EXPECT_EQ(placement::PullSecretsOf(pod).size(), 32u);
  EXPECT_EQ(placement::PullSecretsOf(MakePod("web").PullSecret(std::string(1'000'000, 'x'))).size(),
            0u);
}

TEST_F(PullSecretsTest, ANamespaceNeverSeesTheSecretOfAnother) {
  api_.Create(MakeSecret("ns", "a", "ann"));
  EXPECT_EQ(Users(MakePod("web").PullSecret("a")), Strings{"ann"});
  EXPECT_EQ(Users(MakePod("web").Namespace("other").PullSecret("a")), Strings{});
}

// --- Deadlines.

class PullSecretsDeadlineTest : public PullSecretsTest {
 protected:
  PullSecretsDeadlineTest() { slow_.Hold("/secrets/"); }
  // Asks for the Secrets of namespace `ns`. Returns: whether there is an answer yet, and which.
  std::shared_ptr<std::string> Ask(const std::string& ns, Strings names,
                                   kube::TimePoint deadline = kube::TimePoint::max()) {
    auto answer = std::make_shared<std::string>("none yet");
    auto asked = slow_secrets_.For(ns, std::move(names), deadline);
    kube::asio::co_spawn(io_, std::move(asked),
                         [answer](std::exception_ptr, kube::Result<inspection::SharedKeyring> all) {
                           *answer = all ? "read" : all.error().message();
                         });
    kube::Drain(io_);
    return answer;
  }

  kube::SlowClient slow_{api_};
  PullSecrets slow_secrets_{slow_, clock_};
};

TEST_F(PullSecretsDeadlineTest, NoReadStartsAfterTheDeadline) {
  slow_secrets_.SetGlobal({"ops", "all"});
  auto asked = Ask("ns", {"a", "b", "c"}, clock_.Now() + 4s);
  clock_.Advance(4s);
  slow_.Release();
  kube::Drain(io_);
  EXPECT_EQ(*asked, "read pull secret ns/b: no time is left for it");
  EXPECT_EQ(api_.CountCalls("GET"), 1);
}

// Nor of those that waited for another one to end.
TEST_F(PullSecretsDeadlineTest, AReadThatAllHaveGivenUpDoesNotStart) {
  auto first = Ask("ns", {"a"}, clock_.Now() + 4s);
  auto joined = Ask("ns", {"a"}, clock_.Now() + 4s);
  clock_.Advance(4s);
  slow_.Release();
  kube::Drain(io_);
  EXPECT_EQ(*first, "read");
  EXPECT_EQ(*joined, "read pull secret ns/a: no time is left for it");
  EXPECT_EQ(api_.CountCalls("GET"), 1);
}

// The deadline of one caller is none of the others'.
TEST_F(PullSecretsDeadlineTest, ASharedReadIsForTheCallerWithTheLastDeadline) {
  auto first = Ask("ns", {"a"});
  auto early = Ask("ns", {"a"}, clock_.Now() + 4s);
  auto late = Ask("ns", {"a"}, clock_.Now() + 5s);
  clock_.Advance(4s);
  slow_.Release();
  kube::Drain(io_);
  EXPECT_EQ(*late, "read");
  EXPECT_EQ(api_.CountCalls("GET"), 2);
}

TEST_F(PullSecretsDeadlineTest, ReadsAreInOrder) {
  for (int i = 0; i < 12; ++i) {
    std::string name = "s" + std::to_string(i);
    Ask("greedy", {name + "-a", name + "-b", name + "-c"});
  }
  auto modest = Ask("modest", {"own"});
  EXPECT_EQ(slow_.waiting(), 8);
  slow_.Release(12);
  kube::Drain(io_);
  EXPECT_EQ(*modest, "none yet");
  slow_.Release(1);
  kube::Drain(io_);
  EXPECT_EQ(*modest, "read");
  slow_.Release();
  kube::Drain(io_);
}

TEST_F(PullSecretsTest, AnUnreachableApiServerIsAnError) {
  api_.FailNext(Error::Unavailable("503"));
  EXPECT_THAT(kube::Run(io_, secrets_.For("ns", {"a"})), FailsWith(Code::kUnavailable));
}

}  // namespace
}  // namespace cluster_controller
