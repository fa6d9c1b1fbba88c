// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/token_renewal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fleet/standalone/access/hub_token.h"
#include "fleet/testing/make_object.h"
#include "kube/base/base64.h"
#include "kube/client/client.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"

namespace fleet {
namespace {

using kube::Code;
using kube::Error;
using kube::Json;
using kube::Result;
using testing::HasSubstr;
using namespace std::chrono_literals;

const kube::ObjectKey kSecretKey{"member", "multiarch-fleet-hub"};
constexpr auto kWeek = 7 * 24h;

// Answers every TokenRequest.
class FakeHub final : public kube::Client {
 public:
  explicit FakeHub(kube::Clock& clock) : clock_(clock) {}

  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    calls.push_back(request.target);
    bodies.push_back(request.body);
    if (failure) co_return *failure;
    Json answer = {{"kind", "TokenRequest"},
                   {"status",
                    {{"token", token + std::to_string(calls.size())},
                     {"expirationTimestamp", kube::FormatTime(clock_.WallNow() + life)}}}};
    kube::ApiResponse response{
        .status = 201, .content_type = "application/json", .body = kube::DumpJson(answer)};
    co_return response;
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest) override {
    co_return Error::Internal("no watches");
  }

  std::vector<std::string> calls;
  std::vector<std::string> bodies;
  std::optional<Error> failure;
  std::string token = "secret-";
  kube::WallTime::duration life = kWeek;

 private:
  kube::Clock& clock_;
};

class TokenRenewalTest : public testing::Test {
 protected:
  void SetUp() override {
    member_.CreateJson(kube::kSecrets, MakeObject(kube::kSecrets, kSecretKey.ns, kSecretKey.name)
                                           .Set("/data/kubeconfig", "a2VwdA==")
                                           .Set("/data/token", "b2xk"));
  }
  Result<kube::Duration> Publish() { return kube::Run(io_, renewal_.Publish()); }
  std::string Token() {
    std::optional<Json> secret = member_.GetJson(kube::kSecrets, kSecretKey);
    return kube::Base64Decode(kube::StringAt(*secret, "data.token")).value();
  }
  void SetAnnotation(const std::string& value) {
    Json annotations = {{std::string(kRenewAfterAnnotation), value}};
    member_.PatchJson(kube::kSecrets, kSecretKey, {{"metadata", {{"annotations", annotations}}}});
  }
  int Writes() { return member_.CountCalls("PATCH "); }

  boost::asio::io_context io_;
  kube::FakeClock clock_;
  kube::FakeApiServer member_{clock_};
  FakeHub hub_{clock_};
  TokenRenewal renewal_{hub_, member_, clock_, "c1", kSecretKey};
};

TEST_F(TokenRenewalTest, RenewsAtHalfOfTheTokensLife) {
  ASSERT_THAT(Publish(), kube::IsOk());
  EXPECT_EQ(Token(), "secret-1");
  ASSERT_EQ(hub_.calls.size(), 1u);
  EXPECT_EQ(hub_.calls[0], "/api/v1/namespaces/c1/serviceaccounts/multiarch-fleet-agent/token");
  EXPECT_THAT(hub_.bodies[0], HasSubstr("\"expirationSeconds\":604800"));
  std::optional<Json> secret = member_.GetJson(kube::kSecrets, kSecretKey);
  EXPECT_EQ(kube::StringAt(*secret, "data.kubeconfig"), "a2VwdA==") << "left as it is";

  clock_.Advance(kWeek / 2 - 1min);
  ASSERT_THAT(Publish(), kube::IsOk());
  EXPECT_EQ(Token(), "secret-1");
  clock_.Advance(2min);
  ASSERT_THAT(Publish(), kube::IsOk());
  EXPECT_EQ(Token(), "secret-2");
}

TEST_F(TokenRenewalTest, LooksAtTheSecretEveryHour) {
  Result<kube::Duration> next = Publish();
  ASSERT_THAT(next, kube::IsOk());
  EXPECT_EQ(*next, kube::Duration(1h));
  // Another process has renewed it: nothing to do.
  SetAnnotation(kube::FormatTime(clock_.WallNow() + 10min));
  next = Publish();
  ASSERT_THAT(next, kube::IsOk());
  EXPECT_EQ(*next, kube::Duration(10min));
  EXPECT_EQ(Writes(), 1);
}

TEST_F(TokenRenewalTest, ATimeThatNoAgentWritesIsReplaced) {
  for (const char* time : {"soon", "2260-01-01T00:00:00Z", ""}) {
    SetAnnotation(time);
    ASSERT_THAT(Publish(), kube::IsOk());
    EXPECT_GT(RenewAfter(*member_.GetJson(kube::kSecrets, kSecretKey), clock_.WallNow()),
              clock_.WallNow());
  }
  EXPECT_EQ(hub_.calls.size(), 3u);
}

TEST_F(TokenRenewalTest, ARefusedWriteRequestsNoOtherToken) {
  member_.FailNext(Error::PermissionDenied("no"), "PATCH ", 3);
  for (int i = 0; i < 3; ++i) EXPECT_THAT(Publish(), kube::FailsWith(Code::kPermissionDenied));
  EXPECT_EQ(Token(), "old");
  ASSERT_THAT(Publish(), kube::IsOk());
  EXPECT_EQ(Token(), "secret-1");
  EXPECT_EQ(hub_.calls.size(), 1u);
}

TEST_F(TokenRenewalTest, DoesNotWriteOverASecretThatChangedMeanwhile) {
  bool changed = false;
  member_.BeforeEach([&](const std::string& call) {
    if (changed || !call.starts_with("PATCH ")) return;
    changed = true;
    SetAnnotation(kube::FormatTime(clock_.WallNow() + kWeek));
  });
  EXPECT_THAT(Publish(), kube::FailsWith(Code::kConflict));
  EXPECT_THAT(Publish(), kube::IsOk());
  EXPECT_EQ(Token(), "old");
}

TEST_F(TokenRenewalTest, WithoutTheHubTheOldTokenStays) {
  hub_.failure = Error::Unavailable("503");
  EXPECT_THAT(Publish(), kube::FailsWith(Code::kUnavailable, HasSubstr("request a token")));
  EXPECT_EQ(Token(), "old");
}

TEST_F(TokenRenewalTest, NoErrorHasTextOfAToken) {
  hub_.token = "secret with \n spaces";
  Result<kube::Duration> next = Publish();
  ASSERT_THAT(next, kube::FailsWith(Code::kInvalid));
  EXPECT_EQ(next.error().message().find("secret"), std::string::npos);
  EXPECT_EQ(Writes(), 0);
}

TEST(ReadHubTokenTest, TimesOfTheHubAreBounded) {
  const kube::WallTime now = kube::FakeClock().WallNow();
  auto use = [&](const std::string& expires) {
    Json answer = {{"status", {{"token", "a.b-c_d="}, {"expirationTimestamp", expires}}}};
    Result<HubToken> token = ReadHubToken(answer, now);
    return token ? token->renew_after - now : kube::WallTime::duration(-1);
  };
  EXPECT_EQ(use(kube::FormatTime(now + 24h)), 12h);
  EXPECT_EQ(use(kube::FormatTime(now + 1s)), kMinTokenUse);
  EXPECT_EQ(use(kube::FormatTime(now - 24h)), kMinTokenUse);
  EXPECT_EQ(use("2200-01-01T00:00:00Z"), kMaxTokenUse);
  EXPECT_EQ(use(""), kube::WallTime::duration(-1));
}

TEST(ReadHubTokenTest, RefusesWhatIsNoToken) {
  for (const std::string& text : {std::string(), std::string("a b"), std::string("a\n"),
                                  std::string("a\"b"), std::string(kMaxTokenBytes + 1, 'a')}) {
    Json answer = {{"status", {{"token", text}, {"expirationTimestamp", "2026-01-02T00:00:00Z"}}}};
    EXPECT_THAT(ReadHubToken(answer, kube::FakeClock().WallNow()), kube::FailsWith(Code::kInvalid));
  }
  EXPECT_THAT(ReadHubToken(Json::array(), {}), kube::FailsWith(Code::kInvalid));
}

}  // namespace
}  // namespace fleet
