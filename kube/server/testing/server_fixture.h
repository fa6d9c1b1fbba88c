// SPDX-License-Identifier: Apache-2.0
// ServerFixture: an HttpsServer on 127.0.0.1 with a certificate of a test authority, for tests.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/crypto/certificates.h"
#include "kube/server/http_message.h"
#include "kube/server/https_server.h"
#include "kube/server/testing/test_client.h"
#include "kube/testing/run.h"

namespace kube {

class ServerFixture : public testing::Test {
 protected:
  ServerFixture() {
    directory_ = std::filesystem::path(testing::TempDir()) /
                 testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    options_.address = "127.0.0.1:0";
    options_.certificate_file = directory_ / "tls.crt";
    options_.key_file = directory_ / "tls.key";
    WritePair(NewPair(ca_));
  }

  ~ServerFixture() override {
    if (server_ == nullptr) return;
    release_.cancel();
    IgnoreError(kube::Run(context_, server_->Drain(Duration::zero())), "the test ends");
    IgnoreError(kube::Run(context_, tasks_.Stop(RealClock(), std::chrono::seconds(10))),
                "the test ends");
  }

  static KeyPair NewAuthority() {
    return *NewCertificateAuthority("test", std::chrono::hours(1), RealClock());
  }
  static KeyPair NewPair(const KeyPair& ca) {
    return *NewServingCertificate(ca, {"127.0.0.1"}, std::chrono::hours(1), RealClock());
  }
  static void Write(const std::filesystem::path& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  void WritePair(const KeyPair& pair) {
    Write(options_.certificate_file, pair.certificate_pem);
    Write(options_.key_file, pair.private_key_pem);
  }

  // Adds the test's handlers to server_, which has POST /wait already.
  virtual void AddHandlers() = 0;

  void Start() {
    Result<std::unique_ptr<HttpsServer>> server =
        HttpsServer::New(context_.get_executor(), RealClock(), options_);
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
    server_->Handle("POST", "/wait", [this](HttpCall) { return WaitForRelease(); });
    AddHandlers();
    tasks_.Spawn("server", server_->Run());
  }

  Async<HttpReply> WaitForRelease() {
    co_await IgnoreCancellation();
    ++waiting_;
    auto waited = co_await release_.async_wait(kTuple);
    (void)waited;
    co_return HttpReply{.body = "released"};
  }

  TestClient Client() { return TestClient(context_, server_->port(), ca_.certificate_pem); }

  asio::io_context context_{1};
  TaskGroup tasks_{context_.get_executor()};
  // Requests of /wait are in flight until this is cancelled.
  asio::steady_timer release_{context_, asio::steady_timer::time_point::max()};
  int waiting_ = 0;
  std::filesystem::path directory_;
  KeyPair ca_ = NewAuthority();
  HttpsServerOptions options_;
  std::unique_ptr<HttpsServer> server_;
};

}  // namespace kube
