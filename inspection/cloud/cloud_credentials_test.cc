// SPDX-License-Identifier: Apache-2.0
#include "inspection/cloud/cloud_credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/task_group.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace inspection {
namespace {

using namespace std::chrono_literals;
using kube::Code;
using kube::Error;
using kube::FailsWith;
using kube::IsOk;
using kube::Result;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// What the exchanges do, and were asked for.
struct Script {
  std::vector<std::string> asked;
  std::optional<Error> failure;
  std::chrono::seconds lifetime{3600};
  bool stopped = false;
  kube::Notifier go;
};

class ScriptedExchange final : public TokenExchange {
 public:
  explicit ScriptedExchange(Script& script) : script_(script) {}
  std::string ScopeOf(const CloudRegistry& registry) const override {
    return registry.cloud == Cloud::kAmazon ? "ECR in " + registry.region : registry.host;
  }
  kube::Async<ExchangedLogin> Exchange(CloudRegistry registry) override {
    script_.asked.push_back(registry.host);
    while (script_.stopped) {
      Result<void> waited = co_await script_.go.Wait();
      if (!waited) co_return waited.error();
    }
    if (script_.failure) co_return *script_.failure;
    co_return ExchangedLogin{"user", "secret-" + std::to_string(script_.asked.size()),
                             script_.lifetime};
  }

 private:
  Script& script_;
};

class CloudCredentialsTest : public ::testing::Test {
 protected:
  CloudCredentialsTest() {
    TokenExchanges exchanges;
    exchanges[Cloud::kAmazon] = std::make_unique<ScriptedExchange>(script_);
    exchanges[Cloud::kAzure] = std::make_unique<ScriptedExchange>(script_);
    cloud_.emplace(clock_, *CloudRegistries::Parse("*.dkr.ecr.*.amazonaws.com,*.azurecr.io"),
                   std::move(exchanges));
  }
  ~CloudCredentialsTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  Result<Credential> For(const std::string& host) { return kube::Run(io_, cloud_->For(host)); }
  // Asks without waiting.
  void Ask(const std::string& host) {
    tasks_.Spawn("ask",
                 [](CloudCredentials& cloud, std::string asked,
                    std::vector<Result<Credential>>& answers) -> kube::asio::awaitable<void> {
                   Result<Credential> answer = co_await cloud.For(asked);
                   answers.push_back(std::move(answer));
                 }(*cloud_, host, answers_));
    kube::Drain(io_);
  }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  Script script_;
  std::vector<Result<Credential>> answers_;
  std::optional<CloudCredentials> cloud_;
  kube::TaskGroup tasks_{io_.get_executor()};
};

constexpr char kFirst[] = "111111111111.dkr.ecr.us-east-1.amazonaws.com";
constexpr char kSecond[] = "222222222222.dkr.ecr.us-east-1.amazonaws.com";

TEST_F(CloudCredentialsTest, OneExchangeServesAllRegistriesOfAScopeUntilItExpires) {
  ASSERT_THAT(For(kFirst), IsOk());
  Result<Credential> second = For(kSecond);
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(second->password, "secret-1");
  EXPECT_TRUE(second->own_host_only);
  clock_.Advance(1h - 59s);
  Result<Credential> renewed = For(kSecond);
  ASSERT_THAT(renewed, IsOk());
  EXPECT_EQ(renewed->password, "secret-2");
  EXPECT_EQ(renewed->Identity(), second->Identity()) << "they have the same rights";
  EXPECT_THAT(script_.asked, ElementsAre(kFirst, kSecond));
}

TEST_F(CloudCredentialsTest, RegistriesOfDifferentScopesShareNothing) {
  Result<Credential> one = For("one.azurecr.io");
  Result<Credential> two = For("two.azurecr.io");
  ASSERT_THAT(one, IsOk());
  ASSERT_THAT(two, IsOk());
  EXPECT_NE(one->password, two->password);
  EXPECT_NE(one->Identity(), two->Identity());
}

TEST_F(CloudCredentialsTest, AnExchangeRunsOnceAtATime) {
  script_.stopped = true;
  Ask(kFirst);
  Ask(kSecond);
  EXPECT_THAT(script_.asked, SizeIs(1));
  script_.stopped = false;
  script_.go.NotifyAll();
  kube::Drain(io_);
  ASSERT_THAT(answers_, SizeIs(2));
  EXPECT_THAT(answers_[1], IsOk());
  EXPECT_THAT(script_.asked, SizeIs(1));
}

TEST_F(CloudCredentialsTest, AFailureIsRememberedAndNamesTheScope) {
  script_.failure = Error::Unavailable("sts: 503");
  EXPECT_THAT(For(kFirst),
              FailsWith(Code::kUnavailable, HasSubstr("credential of ECR in us-east-1: sts: 503")));
  EXPECT_THAT(For(kSecond), FailsWith(Code::kUnavailable));
  EXPECT_THAT(script_.asked, SizeIs(1));
  script_.failure.reset();
  clock_.Advance(31s);
  EXPECT_THAT(For(kSecond), IsOk());
}

TEST_F(CloudCredentialsTest, AShortLifetimeDoesNotRepeatTheExchangeAtOnce) {
  script_.lifetime = 0s;
  EXPECT_THAT(For(kFirst), IsOk());
  EXPECT_THAT(For(kFirst), IsOk());
  EXPECT_THAT(script_.asked, SizeIs(1));
}

TEST_F(CloudCredentialsTest, OtherHostsGetNothing) {
  for (const char* host : {"quay.io", "evil.azurecr.io.evil.io", "gcr.io", "one.azurecr.io:8443"}) {
    EXPECT_FALSE(cloud_->Matches(host)) << host;
    EXPECT_THAT(For(host), FailsWith(Code::kInvalid)) << host;
  }
  EXPECT_THAT(script_.asked, SizeIs(0));
}

// Pods may name any number of registries.
TEST_F(CloudCredentialsTest, NewRegistriesAreLimitedAndKnownOnesAreNot) {
  ASSERT_THAT(For(kFirst), IsOk());
  script_.failure = Error::PermissionDenied("403");
  int refused = 0;
  for (int i = 0; i < 2 * CloudCredentials::kMaxNewPerMinute; ++i)
    refused += FailedWith(For("r" + std::to_string(i) + ".azurecr.io"), Code::kThrottled);
  EXPECT_EQ(refused, CloudCredentials::kMaxNewPerMinute + 1);
  EXPECT_THAT(script_.asked, SizeIs(CloudCredentials::kMaxNewPerMinute));
  EXPECT_THAT(For("next.azurecr.io"),
              FailsWith(Code::kThrottled, HasSubstr("more than 30 new registries")));
  // Renewed all the same.
  script_.failure.reset();
  clock_.Advance(1h);
  for (int i = 0; i < CloudCredentials::kMaxNewPerMinute; ++i)
    EXPECT_THAT(For("s" + std::to_string(i) + ".azurecr.io"), IsOk());
  EXPECT_THAT(For("next.azurecr.io"), FailsWith(Code::kThrottled));
  EXPECT_THAT(For(kFirst), IsOk());
}

TEST_F(CloudCredentialsTest, SlowExchangesOfNewRegistriesDoNotHoldKnownOnes) {
  ASSERT_THAT(For(kFirst), IsOk());
  clock_.Advance(1h);
  script_.stopped = true;
  for (size_t i = 0; i < CloudCredentials::kMaxNewAtOnce; ++i)
    Ask("r" + std::to_string(i) + ".azurecr.io");
  EXPECT_THAT(For("next.azurecr.io"),
              FailsWith(Code::kThrottled, HasSubstr("credentials of 4 new registries")));
  size_t before = script_.asked.size();
  Ask(kFirst);
  EXPECT_EQ(script_.asked.size(), before + 1);
  script_.stopped = false;
  script_.go.NotifyAll();
  kube::Drain(io_);
  EXPECT_THAT(For("next.azurecr.io"), IsOk());
}

}  // namespace
}  // namespace inspection
