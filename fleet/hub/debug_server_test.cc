// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/debug_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/server/testing/server_fixture.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/run.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Json;
using kube::Result;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Knows the tokens "reader" (may get), "author" (may create) and "nobody" (may do nothing).
class ReviewApi final : public kube::Client {
 public:
  Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    if (down) co_return kube::Error::Unavailable("503");
    Json review = kube::MustParseJson(request.body);
    bodies.push_back(request.body);
    Json status = Json::object();
    if (request.target.ends_with("tokenreviews")) {
      std::string token = review["spec"]["token"];
      bool known = token == "reader" || token == "author" || token == "nobody";
      status = {{"authenticated", known}, {"user", {{"username", token}, {"groups", {"g"}}}}};
    } else {
      std::string user = review["spec"]["user"];
      std::string verb = review["spec"]["resourceAttributes"]["verb"];
      status["allowed"] =
          (user == "reader" && verb == "get") || (user == "author" && verb == "create");
    }
    Json answer = {{"status", status}};
    co_return kube::ApiResponse{201, "application/json", kube::DumpJson(answer)};
  }
  Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest) override {
    co_return kube::Error::Internal("not used");
  }

  bool down = false;
  std::vector<std::string> bodies;
};

class FakeAnswers final : public DebugAnswers {
 public:
  Async<Json> Answer(kube::ObjectKey placement, std::optional<Json> simulated) override {
    if (placement.name == "missing") co_return kube::Error::NotFound("no Placement ns/missing");
    if (placement.name == "early") co_return kube::Error::Unavailable("not the leader");
    if (simulated && !simulated->contains("spec"))
      co_return kube::Error::Invalid("spec: is required");
    Json answer = {{"placement", placement.ToString()}, {"simulated", simulated.has_value()}};
    co_return answer;
  }
};

class DebugServerTest : public kube::ServerFixture {
 protected:
  void AddHandlers() override {}
  static Async<> Ended(boost::asio::awaitable<void> task) {
    co_await std::move(task);
    co_return kube::Ok();
  }

  void SetUp() override {
    auto made = DebugServer::New(context_.get_executor(), kube::RealClock(), api_, answers_,
                                 {"127.0.0.1:0", directory_});
    ASSERT_TRUE(made) << made.error();
    debug_ = std::move(*made);
    tasks_.Spawn("debug", debug_->Run());
  }
  void TearDown() override {
    kube::IgnoreError(kube::Run(context_, Ended(debug_->Drain(1s))), "the test ends");
    kube::IgnoreError(kube::Run(context_, tasks_.Stop(kube::RealClock(), 10s)), "the test ends");
  }

  kube::TestReply Request(const std::string& method, const std::string& path,
                          const std::string& token, const std::string& body = "") {
    kube::TestClient client(context_, debug_->port(), ca_.certificate_pem);
    EXPECT_TRUE(client.Connect());
    std::string header = token.empty() ? "" : "Authorization: Bearer " + token + "\r\n";
    EXPECT_TRUE(client.Send(method + " " + path + " HTTP/1.1\r\n" + header +
                            "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
    return client.Receive();
  }

  ReviewApi api_;
  FakeAnswers answers_;
  std::unique_ptr<DebugServer> debug_;
};

TEST_F(DebugServerTest, AnswersByMethodPathTokenAndBody) {
  struct Row {
    std::string method, path, token, body;
    int status;
    std::string contains;
  };
  const std::string p = "/debug/placements/ns/p";
  const Row rows[] = {
      {"GET", p, "reader", "", 200, R"({"placement":"ns/p","simulated":false})"},
      {"POST", p, "author", R"({"spec":{}})", 200, R"("simulated":true)"},
      {"POST", p, "author", R"({})", 400, R"({"error":"spec: is required"})"},
      {"POST", p, "author", "{", 400, "must be a Placement"},
      {"POST", p, "author", "[]", 400, "must be a Placement"},
      {"GET", p, "", "", 401, "Authorization: Bearer TOKEN"},
      {"GET", p, "stranger", "", 401, "does not accept the token"},
      {"GET", p, std::string(9000, 'a'), "", 401, "too long"},
      {"GET", p, "nobody", "", 403, "nobody may not get Placement ns/p"},
      {"GET", p, "author", "", 403, "author may not get"},
      {"POST", p, "reader", R"({"spec":{}})", 403, "reader may not create"},
      {"GET", "/debug/placements/ns/missing", "reader", "", 404, "no Placement"},
      {"GET", "/debug/placements/ns", "reader", "", 404, "the path is"},
      {"GET", "/debug/placements/ns/", "reader", "", 404, "the path is"},
      {"GET", "/debug/placements/ns/p/x", "reader", "", 404, "the path is"},
      {"GET", "/debug/placements/ns/%2e", "reader", "", 404, "the path is"},
      {"DELETE", p, "reader", "", 405, "GET and POST"},
      {"GET", "/debug/placements/ns/early", "reader", "", 500, "not the leader"},
  };
  for (const Row& row : rows) {
    kube::TestReply reply = Request(row.method, row.path, row.token, row.body);
    EXPECT_EQ(reply.status, row.status) << row.method << " " << row.path << " " << row.token;
    EXPECT_THAT(reply.body, HasSubstr(row.contains)) << row.method << " " << row.path;
    EXPECT_EQ(reply.body.starts_with(R"({"error":")"), row.status != 200) << reply.body;
  }
}

TEST_F(DebugServerTest, AsksForThePlacementOfThePath) {
  EXPECT_EQ(Request("GET", "/debug/placements/ns/p", "reader").status, 200);
  ASSERT_EQ(api_.bodies.size(), 2u);
  Json spec = kube::MustParseJson(api_.bodies[1])["spec"];
  EXPECT_EQ(spec["resourceAttributes"],
            kube::MustParseJson(R"({"verb": "get", "group": "cluster.open-cluster-management.io",
                            "resource": "placements", "namespace": "ns", "name": "p"})"));
  EXPECT_EQ(spec["user"], "reader");
  EXPECT_EQ(spec["groups"], Json::array({"g"}));
}

TEST_F(DebugServerTest, ApiServerThatIsAwayGivesNoAccess) {
  api_.down = true;
  kube::TestReply reply = Request("GET", "/debug/placements/ns/p", "reader");
  EXPECT_EQ(reply.status, 500);
  EXPECT_THAT(reply.body, HasSubstr("did not say"));
}

TEST_F(DebugServerTest, BodyIsBounded) {
  EXPECT_EQ(
      Request("POST", "/debug/placements/ns/p", "author", std::string((1 << 20) + 1, ' ')).status,
      413);
}

TEST_F(DebugServerTest, ReviewsAreBounded) {
  kube::FakeClock clock;
  DebugAccess access(api_, clock, {.burst = 3, .per_second = 2});
  auto status = [&]() -> int {
    auto check = [&]() -> Async<int> {
      std::string token = "Bearer reader";
      std::string verb = "get";
      kube::ObjectKey placement{"ns", "p"};
      kube::AccessVerdict verdict =
          co_await access.Check(std::move(token), std::move(verb), std::move(placement));
      co_return verdict.status;
    };
    return kube::Run(context_, check()).value();
  };
  std::vector<int> statuses;
  for (int i = 0; i < 5; ++i) statuses.push_back(status());
  EXPECT_EQ(statuses, (std::vector<int>{200, 200, 200, 500, 500}));
  clock.Advance(1s);
  statuses.clear();
  for (int i = 0; i < 3; ++i) statuses.push_back(status());
  EXPECT_EQ(statuses, (std::vector<int>{200, 200, 500}));
}

}  // namespace
}  // namespace fleet
