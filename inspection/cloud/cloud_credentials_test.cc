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
  std::chrono::seconds renew_after{0};
  kube::TimePoint deadline;  // of the last one
  bool stopped = false;
  kube::Notifier go;
};

class ScriptedExchange final : public TokenExchange {
 public:
  explicit ScriptedExchange(Script& script) : script_(script) {}
  std::string ScopeOf(const CloudRegistry& registry) const override {
    return registry.cloud == Cloud::kAmazon ? "ECR in " + registry.region : registry.host;
  }
  kube::Async<ExchangedLogin> Exchange(CloudRegistry registry, kube::TimePoint deadline) override {
    script_.asked.push_back(registry.host);
    script_.deadline = deadline;
    while (script_.stopped) {
      Result<void> waited = co_await script_.go.Wait();
      if (!waited) co_return waited.error();
    }
    if (script_.failure) co_return *script_.failure;
    co_return ExchangedLogin{"user", "secret-" + std::to_string(script_.asked.size()),
                             script_.lifetime, script_.renew_after};
  }

 private:
  Script& script_;
};

class CloudCredentialsTest : public ::testing::Test {
 protected:
  CloudCredentialsTest() {
    cloud_.emplace(
        clock_, *CloudRegistries::Parse("*.dkr.ecr.*.amazonaws.com,*.azurecr.io,named.azurecr.io"),
        NewExchanges());
  }
  TokenExchanges NewExchanges() {
    TokenExchanges exchanges;
    for (Cloud cloud : {Cloud::kAmazon, Cloud::kAzure})
      exchanges[cloud] = std::make_shared<ScriptedExchange>(script_);
    return exchanges;
  }
  ~CloudCredentialsTest() override {
    EXPECT_THAT(kube::Run(io_, tasks_.Stop(kube::RealClock(), 5s)), IsOk());
  }

  kube::TimePoint Deadline() const { return clock_.Now() + 60s; }
  Result<Credential> For(const std::string& host) {
    return kube::Run(io_, cloud_->For(host, "ns", Deadline()));
  }
  // Asks without waiting.
  void Ask(const std::string& host, const std::string& ns = "ns") {
    tasks_.Spawn(
        "ask",
        [](CloudCredentials& cloud, std::string asked, std::string of, kube::TimePoint deadline,
           std::vector<Result<Credential>>& answers) -> kube::asio::awaitable<void> {
          Result<Credential> answer = co_await cloud.For(asked, of, deadline);
          answers.push_back(std::move(answer));
        }(*cloud_, host, ns, Deadline(), answers_));
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
  script_.lifetime = 20s;
  EXPECT_THAT(For(kFirst), IsOk());
  clock_.Advance(10s - 1ms);
  EXPECT_THAT(For(kFirst), IsOk());
  EXPECT_THAT(script_.asked, SizeIs(1));
  // It is not used until it expires: it must arrive before.
  clock_.Advance(1ms);
  EXPECT_THAT(For(kFirst), IsOk());
  EXPECT_THAT(script_.asked, SizeIs(2));
  // One that expires at once is of no use.
  script_.lifetime = 19s;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(For("one.azurecr.io"),
                FailsWith(Code::kUnavailable, HasSubstr("issued for less than 20 seconds")));
  }
  EXPECT_THAT(script_.asked, SizeIs(3));
}

TEST_F(CloudCredentialsTest, ARefusedCredentialIsRenewedWithTheNextUse) {
  script_.lifetime = 12h;
  Result<Credential> first = For(kFirst);
  ASSERT_THAT(first, IsOk());
  clock_.Advance(1min);
  ASSERT_THAT(For(kFirst), IsOk());
  EXPECT_THAT(script_.asked, SizeIs(1));
  cloud_->Refused(kSecond, *first);
  Result<Credential> renewed = For(kFirst);
  ASSERT_THAT(renewed, IsOk());
  EXPECT_EQ(renewed->password, "secret-2");
  // The old one is refused late, and a registry refuses the new one whatever it is.
  cloud_->Refused(kFirst, *first);
  clock_.Advance(30s);
  ASSERT_THAT(For(kFirst), IsOk());
  EXPECT_THAT(script_.asked, SizeIs(2)) << "it was no longer in use";
  for (int i = 0; i < 60; ++i) {
    Result<Credential> current = For(kFirst);
    ASSERT_THAT(current, IsOk());
    cloud_->Refused(kFirst, *current);
    clock_.Advance(1s);
  }
  EXPECT_THAT(script_.asked, SizeIs(4)) << "at most one in 30 seconds";
  cloud_->Refused("quay.io", *renewed);
}

TEST_F(CloudCredentialsTest, AnExchangeEndsWithTheTimeOfItsInspection) {
  kube::TimePoint deadline = clock_.Now() + 7s;
  ASSERT_THAT(kube::Run(io_, cloud_->For(kFirst, "ns", deadline)), IsOk());
  EXPECT_EQ(script_.deadline, deadline);
  // That it was not enough is no failure for other inspections.
  script_.stopped = true;
  script_.failure = Error::DeadlineExceeded("no time is left");
  Ask("one.azurecr.io");
  clock_.Advance(60s);
  script_.stopped = false;
  script_.go.NotifyAll();
  kube::Drain(io_);
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_THAT(answers_[0], FailsWith(Code::kDeadlineExceeded));
  script_.failure.reset();
  EXPECT_THAT(For("one.azurecr.io"), IsOk());
}

TEST_F(CloudCredentialsTest, OtherHostsGetNothing) {
  for (const char* host : {"quay.io", "evil.azurecr.io.evil.io", "gcr.io", "one.azurecr.io:8443"}) {
    EXPECT_FALSE(cloud_->Matches(host)) << host;
    EXPECT_THAT(For(host), FailsWith(Code::kInvalid)) << host;
  }
  EXPECT_THAT(script_.asked, SizeIs(0));
}

TEST_F(CloudCredentialsTest, ACredentialIsRenewedAfterThreeQuartersOfItsLifetime) {
  ASSERT_THAT(For(kFirst), IsOk());
  clock_.Advance(45min - 1s);
  ASSERT_THAT(For(kFirst), IsOk());
  EXPECT_THAT(script_.asked, SizeIs(1));
  clock_.Advance(1s);
  ASSERT_THAT(For(kFirst), IsOk());
  EXPECT_THAT(script_.asked, SizeIs(2));
  // Or earlier, if the cloud says so.
  script_.renew_after = 10min;
  ASSERT_THAT(For("one.azurecr.io"), IsOk());
  clock_.Advance(10min);
  ASSERT_THAT(For("one.azurecr.io"), IsOk());
  EXPECT_THAT(script_.asked, SizeIs(4));
}

TEST_F(CloudCredentialsTest, AFailedRenewalLeavesWhatIsValid) {
  ASSERT_THAT(For(kFirst), IsOk());
  script_.failure = Error::Unavailable("sts: 503");
  clock_.Advance(50min);
  for (int i = 0; i < 3; ++i) {
    Result<Credential> old = For(kFirst);
    ASSERT_THAT(old, IsOk());
    EXPECT_EQ(old->password, "secret-1");
  }
  EXPECT_THAT(script_.asked, SizeIs(2)) << "the failure is remembered";
  clock_.Advance(9min + 49s);
  EXPECT_THAT(For(kFirst), IsOk());
  clock_.Advance(1s);
  EXPECT_THAT(For(kFirst), FailsWith(Code::kUnavailable)) << "it is not used until it expires";
  EXPECT_EQ(cloud_->IdentityFor(kFirst), cloud_->IdentityFor(kSecond));
  EXPECT_NE(cloud_->IdentityFor(kFirst), cloud_->IdentityFor("one.azurecr.io"));
}

TEST_F(CloudCredentialsTest, WhileACredentialIsRenewedTheValidOneIsUsed) {
  Result<Credential> first = For(kFirst);
  ASSERT_THAT(first, IsOk());
  EXPECT_EQ(first->Identity(), cloud_->IdentityFor(kFirst));
  clock_.Advance(50min);
  script_.stopped = true;
  Ask(kFirst);
  Result<Credential> second = For(kSecond);
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(second->password, "secret-1");
  EXPECT_THAT(answers_, SizeIs(0));
}

TEST_F(CloudCredentialsTest, OtherExchangesRenewWhatIsKnown) {
  ASSERT_THAT(For(kFirst), IsOk());
  script_.failure = Error::Unavailable("x509");
  EXPECT_THAT(For("one.azurecr.io"), FailsWith(Code::kUnavailable));
  script_.failure.reset();
  cloud_->ReplaceExchanges(NewExchanges());
  EXPECT_THAT(For("one.azurecr.io"), IsOk()) << "failures are forgotten";
  script_.failure = Error::Unavailable("x509");
  Result<Credential> kept = For(kFirst);
  ASSERT_THAT(kept, IsOk());
  EXPECT_EQ(kept->password, "secret-1");
  EXPECT_EQ(script_.asked.back(), kFirst);
  EXPECT_THAT(script_.asked, SizeIs(4));
}

TEST_F(CloudCredentialsTest, AWaitForAnotherRequestIsBounded) {
  script_.stopped = true;
  Ask(kFirst);
  Ask(kSecond);
  clock_.Advance(10s - 1ms);
  kube::Drain(io_);
  EXPECT_THAT(answers_, SizeIs(0));
  clock_.Advance(1ms);
  kube::Drain(io_);
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_THAT(answers_[0], FailsWith(Code::kDeadlineExceeded, HasSubstr("ECR in us-east-1")));
  EXPECT_THAT(kube::Run(io_, cloud_->For("one.azurecr.io", "ns", clock_.Now())),
              FailsWith(Code::kDeadlineExceeded, HasSubstr("no time is left")));
  EXPECT_THAT(script_.asked, SizeIs(1));
}

// Pods may name any number of registries that a pattern with '*' matches.
TEST_F(CloudCredentialsTest, NewRegistriesWaitForEachOther) {
  script_.stopped = true;
  for (size_t i = 0; i <= CloudCredentials::kMaxNewAtOnce; ++i)
    Ask("r" + std::to_string(i) + ".azurecr.io", "ns" + std::to_string(i));
  EXPECT_THAT(script_.asked, SizeIs(CloudCredentials::kMaxNewAtOnce));
  script_.stopped = false;
  script_.go.NotifyAll();
  kube::Drain(io_);
  EXPECT_THAT(answers_, SizeIs(CloudCredentials::kMaxNewAtOnce + 1));
  for (const Result<Credential>& answer : answers_) EXPECT_THAT(answer, IsOk());
}

TEST_F(CloudCredentialsTest, NewRegistriesOfAMinuteAreLimitedAndKnownOnesAreNot) {
  ASSERT_THAT(For(kFirst), IsOk());
  script_.failure = Error::PermissionDenied("403");
  for (int i = 0; i < CloudCredentials::kMaxNewPerMinute - 1; ++i)
    EXPECT_THAT(For("r" + std::to_string(i) + ".azurecr.io"), FailsWith(Code::kPermissionDenied));
  size_t before = script_.asked.size();
  // Each waits for its turn: there is one in two seconds.
  for (int i = 0; i < 10; ++i) Ask("s" + std::to_string(i) + ".azurecr.io");
  EXPECT_THAT(answers_, SizeIs(0));
  EXPECT_EQ(script_.asked.size(), before);
  // The others do not.
  EXPECT_THAT(For("named.azurecr.io"), FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(script_.asked.size(), before + 1);
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(2s + 1ms);
    kube::Drain(io_);
  }
  ASSERT_THAT(answers_, SizeIs(10));
  int late = 0;
  for (const Result<Credential>& answer : answers_) {
    if (!FailedWith(answer, Code::kDeadlineExceeded)) continue;
    ++late;
    EXPECT_THAT(answer.error().message(), HasSubstr("of one namespace, and of 30 in a minute"));
  }
  EXPECT_GE(late, 5);
  EXPECT_LE(late, 6);
  script_.failure.reset();
  clock_.Advance(1h);
  EXPECT_THAT(For(kFirst), IsOk());
}

// One namespace names any number of registries; the first one of another does not wait for all.
TEST_F(CloudCredentialsTest, NamespacesTakeTurnsForNewRegistries) {
  script_.failure = Error::PermissionDenied("403");
  for (int i = 0; i < CloudCredentials::kMaxNewPerMinute; ++i)
    EXPECT_THAT(For("r" + std::to_string(i) + ".azurecr.io"), FailsWith(Code::kPermissionDenied));
  for (int i = 0; i < 32; ++i) Ask("s" + std::to_string(i) + ".azurecr.io", "greedy");
  size_t before = script_.asked.size();
  Ask("team.azurecr.io", "other");
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(2s + 1ms);
    kube::Drain(io_);
  }
  EXPECT_EQ(script_.asked.size(), before + 4);
  EXPECT_THAT(script_.asked, ::testing::Contains("team.azurecr.io"));
}

// Nor behind the others' requests for the same registry.
TEST_F(CloudCredentialsTest, ATurnOfAnotherNamespaceIsNotWaitedFor) {
  script_.stopped = true;
  for (const char* host : {"a.azurecr.io", "b.azurecr.io", "team.azurecr.io"}) Ask(host, "greedy");
  EXPECT_THAT(script_.asked, ElementsAre("a.azurecr.io", "b.azurecr.io"));
  Ask("team.azurecr.io", "other");
  EXPECT_THAT(script_.asked, ElementsAre("a.azurecr.io", "b.azurecr.io", "team.azurecr.io"));
  script_.stopped = false;
  script_.go.NotifyAll();
  kube::Drain(io_);
  ASSERT_THAT(answers_, SizeIs(4));
  for (const Result<Credential>& answer : answers_) EXPECT_THAT(answer, IsOk());
  EXPECT_THAT(script_.asked, SizeIs(3)) << "one exchange for both";
}

TEST_F(CloudCredentialsTest, OneNamespaceLeavesTurnsForOthers) {
  script_.stopped = true;
  for (int i = 0; i < 4; ++i) Ask("r" + std::to_string(i) + ".azurecr.io", "greedy");
  EXPECT_THAT(script_.asked, SizeIs(CloudCredentials::kMaxNewNamespace));
  Ask("team.azurecr.io", "other");
  EXPECT_EQ(script_.asked.back(), "team.azurecr.io");
  script_.stopped = false;
  script_.go.NotifyAll();
  kube::Drain(io_);
}

TEST_F(CloudCredentialsTest, SlowExchangesOfNewRegistriesDoNotHoldKnownOnes) {
  ASSERT_THAT(For(kFirst), IsOk());
  clock_.Advance(1h);
  script_.stopped = true;
  for (size_t i = 0; i < CloudCredentials::kMaxNewAtOnce; ++i)
    Ask("r" + std::to_string(i) + ".azurecr.io", "ns" + std::to_string(i));
  Ask("next.azurecr.io");
  size_t before = script_.asked.size();
  Ask(kFirst);
  Ask("named.azurecr.io");
  EXPECT_EQ(script_.asked.size(), before + 2);
  clock_.Advance(10s);
  kube::Drain(io_);
  ASSERT_THAT(answers_, SizeIs(1));
  EXPECT_THAT(answers_[0],
              FailsWith(Code::kDeadlineExceeded, HasSubstr("of at most 4 new registries")));
  script_.stopped = false;
  script_.go.NotifyAll();
  kube::Drain(io_);
  EXPECT_THAT(For("next.azurecr.io"), IsOk());
}

}  // namespace
}  // namespace inspection
