// SPDX-License-Identifier: Apache-2.0
#include "console/server/pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "kube/server/https_server.h"
#include "kube/server/testing/server_fixture.h"
#include "kube/server/testing/test_client.h"

namespace console {
namespace {

using kube::ApiRequest;
using kube::Async;
using kube::Error;
using kube::TestClient;
using kube::TestReply;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Accepts the token "good". All lists are empty, but for what `error_` says.
class Api final : public kube::Client {
 public:
  Async<kube::ApiResponse> Call(ApiRequest request) override {
    co_await kube::IgnoreCancellation();
    calls_.push_back(request);
    if (request.authorization != "Bearer good") co_return Error::Unauthenticated("Unauthorized");
    if (request.target.ends_with("selfsubjectreviews"))
      co_return kube::ApiResponse{201, "application/json",
                                  R"({"status":{"userInfo":{"username":"jane"}}})"};
    co_return Error::PermissionDenied("jane may not");
  }
  Async<std::unique_ptr<kube::WatchStream>> Watch(ApiRequest) override {
    co_await kube::IgnoreCancellation();
    co_return Error::Internal("not used");
  }

  std::vector<ApiRequest> calls_;
};

class PagesTest : public kube::ServerFixture {
 protected:
  PagesTest() {
    const kube::HttpsServerOptions with = ServerOptions("127.0.0.1:0");
    options_.kept_headers = with.kept_headers;
    options_.limits = with.limits;
  }
  void AddHandlers() override { pages_.AddTo(*server_); }

  TestReply Get(const std::string& target, const std::string& headers = "") {
    TestClient client = Client();
    EXPECT_TRUE(client.Connect());
    EXPECT_TRUE(client.Send("GET " + target + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n"));
    return client.Receive();
  }

  Api api_;
  kube::Metrics metrics_;
  Pages pages_{api_,
               context_.get_executor(),
               kube::RealClock(),
               metrics_,
               {.operator_namespace = "operator"}};
};

TEST_F(PagesTest, TheFilesAreForEverybody) {
  Start();
  for (const char* path : {"/", "/app.js", "/app.css", "/favicon.svg"}) {
    TestReply reply = Get(path);
    EXPECT_EQ(reply.status, 200) << path;
    // gzip
    EXPECT_THAT(reply.body, StartsWith("\x1f\x8b")) << path;
    EXPECT_THAT(reply.header, HasSubstr("Content-Security-Policy: default-src 'none'; script-src "
                                        "'self'; style-src 'self';"));
    EXPECT_THAT(reply.header, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
    const size_t at = reply.header.find("ETag: ") + 6;
    const std::string etag = reply.header.substr(at, reply.header.find('\r', at) - at);
    reply = Get(path, "If-None-Match: " + etag + "\r\n");
    EXPECT_EQ(reply.status, 304) << path;
    EXPECT_EQ(reply.body, "");
  }
  EXPECT_EQ(Get("/app.js.map").status, 404);
  EXPECT_EQ(Get("/../etc/passwd").status, 404);
  EXPECT_TRUE(api_.calls_.empty());
}

TEST_F(PagesTest, AnswersAreForWhoHasLoggedIn) {
  Start();
  for (const char* path : {"/api/session", "/api/status", "/api/waiting", "/api/report",
                           "/api/why/pod", "/api/why/config", "/api/why/workload", "/api/configs",
                           "/api/images", "/api/fleet", "/api/fleet/why"}) {
    EXPECT_EQ(Get(path).status, 401) << path;
    EXPECT_EQ(Get(path, "X-Forwarded-Access-Token: bad\r\n").status, 401) << path;
  }
  for (const ApiRequest& call : api_.calls_) EXPECT_THAT(call.target, HasSubstr("selfsubject"));

  TestReply reply = Get("/api/session", "X-Forwarded-Access-Token: good\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.body, HasSubstr(R"("user":"jane")"));
  EXPECT_THAT(reply.header, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(reply.header, ContainsRegex("Date: [A-Z][a-z]{2}, [0-9]{2} [A-Z][a-z]{2} "
                                          "[0-9]{4} [0-9:]{8} GMT\r\n"));
  EXPECT_EQ(Get("/api/session", "Authorization: Bearer good\r\n").status, 200);
}

TEST_F(PagesTest, RefusalsSayWhy) {
  Start();
  const std::string good = "X-Forwarded-Access-Token: good\r\n";
  TestReply reply = Get("/api/waiting", good);
  EXPECT_EQ(reply.status, 403);
  EXPECT_EQ(reply.content_type, "application/json");
  EXPECT_THAT(reply.body, HasSubstr("jane may not"));
  EXPECT_EQ(Get("/api/waiting?namespace=%zz", good).status, 400);
  EXPECT_EQ(Get("/api/waiting?namespace=..", good).status, 400);
  EXPECT_EQ(Get("/api/simulate", good).status, 404);
  EXPECT_EQ(Get("/api/", good).status, 404);
}

}  // namespace
}  // namespace console
