// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/webhook/path_watch.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "ephemeral-containers/names.h"
#include "ephemeral-containers/webhook/testing/path_secret.h"
#include "kube/base/task_group.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace ephemeral {
namespace {

using kube::core::Secret;
using namespace std::chrono_literals;

const std::string kOne(64, '1');
const std::string kTwo(64, '2');

class PathWatchTest : public testing::Test {
 protected:
  ~PathWatchTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), kube::IsOk());
  }
  void Start() {
    path_.Start(tasks_);
    kube::Drain(io_);
  }
  void Update(const std::string& token) {
    api_.Update(PathSecret(token));
    kube::Drain(io_);
  }
  bool Admits(const std::string& token) { return path_.Admits(PathOf(token)); }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  PathWatch path_{api_, clock_, "ops"};
  kube::TaskGroup tasks_{io_.get_executor()};
};

TEST_F(PathWatchTest, OnlyThePathWithTheTokenIsAdmitted) {
  api_.Create(PathSecret(kOne));
  Start();
  EXPECT_TRUE(path_.known());
  EXPECT_TRUE(Admits(kOne));
  std::string wrong = kOne;
  wrong.back() = '2';
  for (const std::string& other :
       {std::string(), std::string("/"), std::string(kWarningsPath), PathOf(""), PathOf(kTwo),
        PathOf(wrong), PathOf(kOne) + "/", PathOf(kOne).substr(1), PathOf("key")}) {
    EXPECT_FALSE(path_.Admits(other)) << other;
  }
}

TEST_F(PathWatchTest, ATokenThatWasReplacedIsRefusedAtOnce) {
  api_.Create(PathSecret(kOne));
  Start();
  Update(kTwo);
  EXPECT_TRUE(Admits(kTwo));
  EXPECT_FALSE(Admits(kOne));
}

// An admin deleted it. The API server has the last path until the operator has another one.
TEST_F(PathWatchTest, WhileTheTokenIsLostTheLastOneStays) {
  api_.Create(PathSecret(kOne));
  Start();
  Update("");
  EXPECT_TRUE(Admits(kOne));
  Update("not a token");
  EXPECT_TRUE(Admits(kOne));
  EXPECT_FALSE(Admits("not a token"));
  api_.DeleteJson(kube::ResourceOf<Secret>::value, {"ops", std::string(kWebhookName)});
  kube::Drain(io_);
  EXPECT_TRUE(Admits(kOne));
  api_.Create(PathSecret(kTwo));
  kube::Drain(io_);
  EXPECT_TRUE(Admits(kTwo));
  EXPECT_FALSE(Admits(kOne));
}

TEST_F(PathWatchTest, WithoutATokenNothingIsAdmitted) {
  Start();
  EXPECT_FALSE(path_.known());
  EXPECT_FALSE(Admits(""));
  EXPECT_FALSE(path_.Admits(""));
  api_.Create(PathSecret(""));
  kube::Drain(io_);
  EXPECT_FALSE(path_.known());
  EXPECT_FALSE(Admits(""));
  EXPECT_FALSE(path_.Admits(""));
  Update(kOne);
  EXPECT_TRUE(Admits(kOne));
}

TEST_F(PathWatchTest, OtherSecretsAreNotWatched) {
  for (const char* other : {"a-secret", "pod-placement-web-hook"}) {
    Secret secret = PathSecret(kOne);
    secret.mutable_metadata()->set_name(other);
    api_.Create(secret);
  }
  Secret elsewhere = PathSecret(kOne);
  elsewhere.mutable_metadata()->set_namespace_("shop");
  api_.Create(elsewhere);
  Start();
  EXPECT_FALSE(path_.known());
}

}  // namespace
}  // namespace ephemeral
