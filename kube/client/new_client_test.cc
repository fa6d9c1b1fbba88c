// SPDX-License-Identifier: Apache-2.0
#include "kube/client/new_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <fstream>

#include "kube/client/client_config.h"
#include "kube/codec/codec.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/scripted_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

std::string StatusJson(int code, const std::string& reason, const std::string& message) {
  Json status = {{"kind", "Status"},
                 {"apiVersion", "v1"},
                 {"code", code},
                 {"reason", reason},
                 {"message", message}};
  return DumpJson(status);
}

class Observer final : public CallObserver {
 public:
  void OnCall(std::string_view method, std::string_view host, int status, Duration) override {
    calls.push_back(std::string(method) + " " + std::to_string(status));
    last_host = host;
  }
  std::vector<std::string> calls;
  std::string last_host;
};

class NewClientTest : public testing::Test {
 protected:
  // A scripted response; the last one repeats.
  struct Answer {
    int status = 200;
    std::string body;
    std::string fields = "Content-Type: application/json\r\n";
  };

  NewClientTest() : folder_(std::filesystem::path(testing::TempDir()) / "new_client_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }

  void Serve(std::vector<Answer> answers, ScriptedServerOptions options = {}) {
    answers_ = std::move(answers);
    Serve([this](ScriptedPeer& peer) { return AnswerAll(peer); }, std::move(options));
  }
  void Serve(ScriptedServer::Script script, ScriptedServerOptions options = {}) {
    server_ =
        std::make_unique<ScriptedServer>(io_.get_executor(), std::move(options), std::move(script));
    config_.server = server_->url().ToString();
  }

  Client& client() {
    if (client_ == nullptr) {
      options_.user_agent = "test/1.2";
      options_.observer = &observer_;
      Result<std::unique_ptr<Client>> made =
          NewClient(io_.get_executor(), clock_, config_, options_);
      EXPECT_THAT(made, IsOk());
      client_ = std::move(*made);
    }
    return *client_;
  }
  Result<ApiResponse> Call(ApiRequest request) {
    return kube::Run(io_, client().Call(std::move(request)));
  }
  Result<ApiResponse> Get() { return Call({.target = "/api/v1/pods?limit=1"}); }
  // Starts a Get that may wait for the clock.
  std::shared_ptr<std::optional<Result<ApiResponse>>> StartGet(
      std::chrono::milliseconds timeout = 30s) {
    auto place = std::make_shared<std::optional<Result<ApiResponse>>>();
    ApiRequest request{.target = "/x", .timeout = timeout};
    asio::co_spawn(io_, client().Call(request),
                   [place](std::exception_ptr, Result<ApiResponse> r) { *place = std::move(r); });
    return place;
  }
  bool Done(const std::shared_ptr<std::optional<Result<ApiResponse>>>& call) {
    return RunUntil(io_, [&] { return call->has_value(); });
  }
  bool Sleeps() {
    return RunUntil(io_, [&] { return clock_.sleepers() == 1; });
  }

  std::vector<std::string> Authorizations() const {
    std::vector<std::string> values;
    for (const ScriptedRequest& request : requests_)
      values.push_back(request.Header("Authorization"));
    return values;
  }
  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  // A plugin that prints `status` (a JSON object) and counts its runs in the file "runs".
  ExecConfig Plugin(const std::string& status) {
    return {.api_version = "client.authentication.k8s.io/v1",
            .command = "sh",
            .args = {"-c", ": > " + folder_.string() + "/run.$$; printf '%s' \"$CREDENTIAL\""},
            .env = {{"CREDENTIAL",
                     "{\"apiVersion\":\"client.authentication.k8s.io/"
                     "v1\",\"kind\":\"ExecCredential\",\"status\":" +
                         status + "}"}}};
  }
  int PluginRuns() const {
    int runs = 0;
    for (auto& entry : std::filesystem::directory_iterator(folder_))
      runs += entry.path().filename().string().starts_with("run.");
    return runs;
  }

  asio::io_context io_{1};
  FakeClock clock_;
  std::filesystem::path folder_;
  ClientConfig config_;
  ClientOptions options_;
  Observer observer_;
  std::vector<ScriptedRequest> requests_;
  std::vector<Answer> answers_;
  std::unique_ptr<ScriptedServer> server_;
  std::unique_ptr<Client> client_;

 private:
  asio::awaitable<void> AnswerAll(ScriptedPeer& peer) {
    while (true) {
      std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
      if (!request) co_return;
      requests_.push_back(std::move(*request));
      Answer answer = answers_[std::min(requests_.size(), answers_.size()) - 1];
      co_await peer.Reply(answer.status, answer.body, answer.fields);
    }
  }
};

TEST_F(NewClientTest, ReturnsWarnings) {
  Serve({{.body = "{}",
          .fields = "Warning: 299 - \"it says \\\"no\\\" \\\\o/\"\r\n"
                    "Warning: 299 - without quotes\r\n"
                    "Warning: 299 - \"open\r\n"}});
  Result<ApiResponse> response = Get();
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->warnings, ElementsAre("it says \"no\" \\o/", "", "open"));
}

TEST_F(NewClientTest, SendsHeadersAndCredentials) {
  Serve({{.status = 201, .body = "{}"}});
  config_.server += "k8s/clusters/c-1/";
  config_.token = "secret";
  Result<ApiResponse> response = Call({.method = Method::kPatch,
                                       .target = "/api/v1/x?y=z",
                                       .content_type = std::string(kApplyPatch),
                                       .accept = "a/b",
                                       .body = "body"});
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->content_type, "application/json");
  EXPECT_EQ(response->body, "{}");
  const ScriptedRequest& request = requests_.at(0);
  EXPECT_EQ(request.method, "PATCH");
  EXPECT_EQ(request.target, "/k8s/clusters/c-1/api/v1/x?y=z");
  EXPECT_EQ(request.body, "body");
  EXPECT_EQ(request.Header("Content-Type"), "application/apply-patch+yaml");
  EXPECT_EQ(request.Header("Accept"), "a/b");
  EXPECT_EQ(request.Header("User-Agent"), "test/1.2");
  EXPECT_EQ(request.Header("Authorization"), "Bearer secret");
  EXPECT_EQ(request.Header("Accept-Encoding"), "");
  EXPECT_EQ(request.Header("Expect"), "");
}

TEST_F(NewClientTest, ARequestMayHaveCredentialsOfItsOwn) {
  Serve({{.body = "{}"},
         {.status = 401, .body = StatusJson(401, "Unauthorized", "who?")},
         {.body = "{}"}});
  config_.token_file = Write("token", "one");
  client();
  Write("token", "two");
  EXPECT_THAT(Call({.target = "/api", .authorization = "Bearer of-user"}), IsOk());
  // It is not repeated with the client's.
  EXPECT_THAT(Call({.target = "/api", .authorization = "Bearer bad"}),
              FailsWith(Code::kUnauthenticated, "who?"));
  EXPECT_THAT(Get(), IsOk());
  EXPECT_THAT(Authorizations(), ElementsAre("Bearer of-user", "Bearer bad", "Bearer one"));
}

TEST_F(NewClientTest, UsernameAndPasswordBecomeBasicAuthorization) {
  Serve({{.body = "{}"}});
  config_.username = "me";
  config_.password = "secret";
  EXPECT_THAT(Get(), IsOk());
  EXPECT_THAT(Authorizations(), ElementsAre("Basic bWU6c2VjcmV0"));
}

TEST_F(NewClientTest, ErrorsHaveTheReasonOfTheStatus) {
  Serve({{.status = 404, .body = StatusJson(404, "NotFound", "pods \"web\" not found")},
         {.status = 409, .body = StatusJson(409, "Conflict", "changed")},
         {.status = 409, .body = StatusJson(409, "AlreadyExists", "exists")},
         {.status = 410, .body = StatusJson(410, "Expired", "too old")},
         {.status = 500, .body = "oh no", .fields = "Content-Type: text/plain\r\n"},
         {.status = 302, .body = "", .fields = "Location: http://elsewhere/\r\n"}});
  EXPECT_THAT(Get(), FailsWith(Code::kNotFound, "pods \"web\" not found"));
  EXPECT_THAT(Get(), FailsWith(Code::kConflict));
  EXPECT_THAT(Get(), FailsWith(Code::kAlreadyExists));
  EXPECT_THAT(Get(), FailsWith(Code::kExpired));
  EXPECT_THAT(Get(), FailsWith(Code::kUnavailable, HasSubstr("oh no")));
  EXPECT_THAT(Get(), FailsWith(Code::kInternal));
  EXPECT_THAT(observer_.calls,
              ElementsAre("GET 404", "GET 409", "GET 409", "GET 410", "GET 500", "GET 302"));
}

TEST_F(NewClientTest, ALostServerIsUnavailableAndCounted) {
  Serve({{.body = "{}"}});
  client();
  std::string port = server_->url().port;
  server_.reset();
  EXPECT_THAT(Get(), FailsWith(Code::kUnavailable, HasSubstr("GET /api/v1/pods: connect")));
  EXPECT_THAT(observer_.calls, ElementsAre("GET 0"));
  EXPECT_EQ(observer_.last_host, "127.0.0.1:" + port);
}

TEST_F(NewClientTest, AResponseThatIsTooLargeIsInvalid) {
  Serve({{.body = std::string(2000, 'x')}});
  options_.max_body_bytes = 1000;
  auto got = Get();
  EXPECT_THAT(got, FailsWith(Code::kInvalid, HasSubstr("larger than 1000")));
  EXPECT_EQ(got.error().reason(), "BodyTooLarge");
}

// Throttling.

TEST_F(NewClientTest, AThrottledCallWaitsForRetryAfter) {
  for (int status : {429, 503}) {
    requests_.clear();
    Serve({{.status = status, .body = "", .fields = "Retry-After: 8\r\n"}, {.body = "{}"}});
    client_.reset();
    auto call = StartGet();
    ASSERT_TRUE(Sleeps());
    clock_.Advance(7999ms);
    Drain(io_);
    EXPECT_EQ(requests_.size(), 1u);
    clock_.Advance(2001ms);  // at most a quarter more than Retry-After
    ASSERT_TRUE(Done(call));
    EXPECT_THAT(**call, IsOk());
  }
}

TEST_F(NewClientTest, ThrottledForLongerThanTheTimeoutIsAnErrorAtOnce) {
  Serve({{.status = 429, .body = "", .fields = "Retry-After: 40\r\n"}});
  Result<ApiResponse> response = Get();
  ASSERT_THAT(response, FailsWith(Code::kThrottled));
  EXPECT_EQ(response.error().retry_after(), 40s);
  EXPECT_EQ(requests_.size(), 1u);
}

// As when the process was stopped during the wait: who called it may have given up.
TEST_F(NewClientTest, NoAttemptBeginsAfterTheTimeout) {
  Serve({{.status = 429, .body = "", .fields = "Retry-After: 8\r\n"}, {.body = "{}"}});
  auto call = StartGet(/*timeout=*/15s);
  ASSERT_TRUE(Sleeps());
  clock_.Advance(15s);
  ASSERT_TRUE(Done(call));
  EXPECT_THAT(**call, FailsWith(Code::kDeadlineExceeded, HasSubstr("GET /x")));
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(NewClientTest, AttemptsAreBounded) {
  Serve({{.status = 429, .body = "", .fields = "Retry-After: 1\r\n"}});
  options_.max_attempts = 3;
  auto call = StartGet();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Sleeps());
    clock_.Advance(2s);
  }
  ASSERT_TRUE(Done(call));
  EXPECT_THAT(**call, FailsWith(Code::kThrottled));
  EXPECT_EQ(requests_.size(), 3u);
}

TEST_F(NewClientTest, AServerErrorWithoutRetryAfterIsNotRetried) {
  Serve({{.status = 503, .body = ""}});
  EXPECT_THAT(Get(), FailsWith(Code::kUnavailable));
  EXPECT_EQ(requests_.size(), 1u);
}

// Credentials.

TEST_F(NewClientTest, AFixedTokenThatIsRefusedStaysRefused) {
  Serve({{.status = 401, .body = StatusJson(401, "Unauthorized", "Unauthorized")}});
  config_.token = "old";
  EXPECT_THAT(Get(), FailsWith(Code::kUnauthenticated));
  EXPECT_EQ(requests_.size(), 1u);
}

TEST_F(NewClientTest, ATokenFileIsReadAgainEveryMinute) {
  Serve({{.body = "{}"}});
  config_.token = "not this";
  config_.token_file = Write("token", "one\n");
  EXPECT_THAT(Get(), IsOk());
  Write("token", "two\n");
  EXPECT_THAT(Get(), IsOk());
  clock_.Advance(60s);
  EXPECT_THAT(Get(), IsOk());
  std::filesystem::remove(config_.token_file);  // the old token stays in use
  clock_.Advance(60s);
  EXPECT_THAT(Get(), IsOk());
  EXPECT_THAT(Authorizations(),
              ElementsAre("Bearer one", "Bearer one", "Bearer two", "Bearer two"));
}

TEST_F(NewClientTest, ARefusedTokenFileIsReadAgainOnce) {
  Serve({{.status = 401, .body = ""}, {.body = "{}"}, {.status = 401, .body = ""}});
  config_.token_file = Write("token", "one");
  client();
  Write("token", "two");
  EXPECT_THAT(Get(), IsOk());
  Write("token", "three");
  EXPECT_THAT(Get(), FailsWith(Code::kUnauthenticated));
  EXPECT_THAT(Authorizations(),
              ElementsAre("Bearer one", "Bearer two", "Bearer two", "Bearer three"));
}

TEST_F(NewClientTest, APluginIsRunOnceUntilItsTokenExpires) {
  Serve({{.body = "{}"}});
  std::string expires = FormatTime(clock_.WallNow() + 100s);
  config_.exec = Plugin("{\"token\":\"t\",\"expirationTimestamp\":\"" + expires + "\"}");
  EXPECT_THAT(Get(), IsOk());
  clock_.Advance(80s);
  EXPECT_THAT(Get(), IsOk());
  EXPECT_EQ(PluginRuns(), 1);
  clock_.Advance(15s);
  EXPECT_THAT(Get(), IsOk());
  EXPECT_EQ(PluginRuns(), 2);
  EXPECT_THAT(Authorizations(), ElementsAre("Bearer t", "Bearer t", "Bearer t"));
}

TEST_F(NewClientTest, CallsAtTheSameTimeShareOneRunOfThePlugin) {
  Serve({{.body = "{}"}});
  config_.exec = Plugin("{\"token\":\"t\"}");
  auto first = StartGet();
  auto second = StartGet();
  auto third = StartGet();
  ASSERT_TRUE(Done(first) && Done(second) && Done(third));
  EXPECT_THAT(**third, IsOk());
  EXPECT_EQ(PluginRuns(), 1);
}

TEST_F(NewClientTest, ARefusedTokenRunsThePluginAgainOnce) {
  Serve({{.status = 401, .body = ""}});
  config_.exec = Plugin("{\"token\":\"t\"}");
  EXPECT_THAT(Get(), FailsWith(Code::kUnauthenticated));
  EXPECT_EQ(requests_.size(), 2u);
  EXPECT_EQ(PluginRuns(), 2);
}

TEST_F(NewClientTest, APluginThatFailsIsNotRunForEveryCall) {
  Serve({{.body = "{}"}});
  config_.exec = Plugin("{}");
  EXPECT_THAT(Get(),
              FailsWith(Code::kInvalid, HasSubstr("neither token nor clientCertificateData")));
  EXPECT_THAT(Get(), FailsWith(Code::kInvalid));
  EXPECT_EQ(PluginRuns(), 1);
  clock_.Advance(5s);
  EXPECT_THAT(Get(), FailsWith(Code::kInvalid));
  EXPECT_EQ(PluginRuns(), 2);
  EXPECT_EQ(requests_.size(), 0u);
}

TEST_F(NewClientTest, AMissingPluginIsReportedWithItsInstallHint) {
  Serve({{.body = "{}"}});
  config_.exec = ExecConfig{.api_version = "client.authentication.k8s.io/v1",
                            .command = "/no/such/plugin",
                            .install_hint = "get it there"};
  EXPECT_THAT(Get(), FailsWith(Code::kNotFound, HasSubstr("get it there")));
}

TEST_F(NewClientTest, CertificatesOfPluginsAndFilesAreUsed) {
  KeyPair authority = *NewCertificateAuthority("test", 24h, RealClock());
  KeyPair serving = *NewServingCertificate(authority, {"127.0.0.1"}, 1h, RealClock());
  Serve({{.body = "{}"}}, {.certificate = serving, .client_ca_pem = authority.certificate_pem});
  config_.ca_file = Write("ca.crt", authority.certificate_pem);
  Json status = {{"clientCertificateData", serving.certificate_pem},
                 {"clientKeyData", serving.private_key_pem}};
  config_.exec = Plugin(DumpJson(status));
  EXPECT_THAT(Get(), IsOk());

  client_.reset();
  config_.exec.reset();
  config_.cert_file = Write("c.crt", serving.certificate_pem);
  config_.key_file = Write("c.key", serving.private_key_pem);
  EXPECT_THAT(Get(), IsOk());
  EXPECT_EQ(server_->accepted(), 2);

  // A new certificate requires new connections.
  KeyPair renewed = *NewServingCertificate(authority, {"127.0.0.1"}, 1h, RealClock());
  Write("c.crt", renewed.certificate_pem);
  Write("c.key", renewed.private_key_pem);
  EXPECT_THAT(Get(), IsOk());
  EXPECT_EQ(server_->accepted(), 2);
  clock_.Advance(60s);
  EXPECT_THAT(Get(), IsOk());
  EXPECT_EQ(server_->accepted(), 3);
}

TEST_F(NewClientTest, InvalidConfigsFailInNewClient) {
  auto make = [&](ClientConfig config) {
    return NewClient(io_.get_executor(), clock_, config, options_);
  };
  EXPECT_THAT(make({.server = "ftp://h"}), FailsWith(Code::kInvalid, HasSubstr("server")));
  EXPECT_THAT(make({.server = "https://h", .tls = {.insecure = true}, .proxy_url = "socks5://p"}),
              FailsWith(Code::kInvalid, HasSubstr("proxy-url")));
  EXPECT_THAT(make({.server = "https://h", .ca_file = "/no/such/file"}),
              FailsWith(Code::kNotFound, HasSubstr("certificate authority: /no/such/file")));
  EXPECT_THAT(make({.server = "https://h", .tls = {.ca_pem = "nonsense"}}),
              FailsWith(Code::kInvalid));
}

// Watches.

std::string Prefixed(const std::string& frame) {
  std::string bytes;
  for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(frame.size() >> shift & 0xff);
  return bytes + frame;
}

ScriptedServer::Script WatchOf(std::string content_type, std::string bytes) {
  std::string head = "HTTP/1.1 200 OK\r\nContent-Type: " + content_type + "\r\n\r\n";
  return [answer = head + bytes](ScriptedPeer& peer) -> asio::awaitable<void> {
    co_await peer.ReadRequest();
    co_await peer.Write(answer);
  };
}

TEST_F(NewClientTest, AWatchYieldsItsFramesAndEnds) {
  const std::pair<std::string, std::string> kRows[] = {
      {"application/vnd.kubernetes.protobuf;stream=watch", Prefixed("one") + Prefixed("two")},
      {"application/json", "one\ntwo\n"},
  };
  for (auto& [content_type, bytes] : kRows) {
    Serve(WatchOf(content_type, bytes));
    client_.reset();
    ApiRequest request{.target = "/api/v1/pods?watch=true"};
    Result<std::unique_ptr<WatchStream>> watch = kube::Run(io_, client().Watch(request));
    ASSERT_THAT(watch, IsOk());
    EXPECT_EQ(**kube::Run(io_, (*watch)->Next()), "one");
    EXPECT_EQ(**kube::Run(io_, (*watch)->Next()), "two");
    EXPECT_EQ(*kube::Run(io_, (*watch)->Next()), std::nullopt);
  }
}

TEST_F(NewClientTest, ABrokenWatchIsAnError) {
  struct Row {
    std::string bytes;
    Code code;
  };
  const Row kRows[] = {{"{\"half\":", Code::kUnavailable},
                       {std::string(2000, 'x'), Code::kInvalid}};
  options_.max_frame_bytes = 1000;
  for (const Row& row : kRows) {
    Serve(WatchOf("application/json", row.bytes));
    client_.reset();
    ApiRequest request{.target = "/x"};
    Result<std::unique_ptr<WatchStream>> watch = kube::Run(io_, client().Watch(request));
    ASSERT_THAT(watch, IsOk());
    EXPECT_THAT(kube::Run(io_, (*watch)->Next()), FailsWith(row.code));
  }
}

TEST_F(NewClientTest, AWatchWithoutBytesTimesOut) {
  Serve([](ScriptedPeer& peer) -> asio::awaitable<void> {
    co_await peer.ReadRequest();
    std::string header = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
    co_await peer.Write(header);
    co_await peer.UntilClosed();
  });
  options_.watch_idle_timeout = 30ms;
  ApiRequest request{.target = "/x"};
  Result<std::unique_ptr<WatchStream>> watch = kube::Run(io_, client().Watch(request));
  ASSERT_THAT(watch, IsOk());
  EXPECT_THAT(kube::Run(io_, (*watch)->Next()), FailsWith(Code::kDeadlineExceeded));
}

TEST_F(NewClientTest, ARefusedWatchHasTheReasonOfTheStatus) {
  Serve({{.status = 410, .body = StatusJson(410, "Expired", "too old")}});
  ApiRequest request{.target = "/x"};
  EXPECT_THAT(kube::Run(io_, client().Watch(request)), FailsWith(Code::kExpired, "too old"));
  EXPECT_THAT(observer_.calls, ElementsAre("GET 410"));
}

TEST_F(NewClientTest, AWatchRefreshesARefusedToken) {
  Serve({{.status = 401, .body = ""}, {.body = "{}\n"}});
  config_.token_file = Write("token", "one");
  client();
  Write("token", "two");
  ApiRequest request{.target = "/x"};
  EXPECT_THAT(kube::Run(io_, client().Watch(request)), IsOk());
  EXPECT_THAT(Authorizations(), ElementsAre("Bearer one", "Bearer two"));
}

TEST_F(NewClientTest, WatchesDoNotUseTheConnectionsOfCalls) {
  Serve([](ScriptedPeer& peer) -> asio::awaitable<void> {
    std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
    std::string empty = "{}";
    if (request && request->target == "/call") co_await peer.Reply(200, empty);
    std::string header = "HTTP/1.1 200 OK\r\n\r\n";
    co_await peer.Write(header);
    co_await peer.UntilClosed();
  });
  options_.max_connections = 1;
  std::vector<std::unique_ptr<WatchStream>> watches;
  for (int i = 0; i < 3; ++i) {
    ApiRequest request{.target = "/watch"};
    Result<std::unique_ptr<WatchStream>> watch = kube::Run(io_, client().Watch(request));
    ASSERT_THAT(watch, IsOk());
    watches.push_back(std::move(*watch));
  }
  EXPECT_THAT(Call({.target = "/call"}), IsOk());
  EXPECT_EQ(server_->accepted(), 4);
}

}  // namespace
}  // namespace kube
