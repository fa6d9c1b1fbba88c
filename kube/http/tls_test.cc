// SPDX-License-Identifier: Apache-2.0
#include "kube/http/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "kube/base/clock.h"
#include "kube/crypto/certificates.h"
#include "kube/http/pool.h"
#include "kube/http/testing/scripted_server.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

asio::awaitable<void> Once(ScriptedPeer& peer) {
  std::optional<ScriptedRequest> request = co_await peer.ReadRequest();
  std::string body = "hi";
  std::string fields = "Connection: close\r\n";
  if (request) co_await peer.Reply(200, body, fields);
}

class TlsTest : public testing::Test {
 protected:
  KeyPair Serving(std::vector<std::string> names) {
    return *NewServingCertificate(authority_, names, 1h, RealClock());
  }

  // The response of a server with a certificate for `names` to a client with `tls`.
  Result<HttpResponse> CallWith(std::vector<std::string> names, TlsOptions tls,
                                std::string client_ca = "") {
    ScriptedServerOptions options{.certificate = Serving(names), .client_ca_pem = client_ca};
    ScriptedServer server(io_.get_executor(), options, Once);
    Origin origin = Origin::Of(server.url());
    origin.tls = std::move(tls);
    std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
    HttpRequest request{.timeout = 10s};
    return kube::Run(io_, pool->Call(request));
  }

  asio::io_context io_{1};
  KeyPair authority_ = *NewCertificateAuthority("test", 24h, RealClock());
  TlsOptions trusting_{.ca_pem = authority_.certificate_pem};
};

TEST_F(TlsTest, ACertificateForTheAddressIsAccepted) {
  EXPECT_THAT(CallWith({"127.0.0.1"}, trusting_), IsOk());
}

TEST_F(TlsTest, ACertificateForAnotherNameIsRefused) {
  EXPECT_THAT(CallWith({"other.example"}, trusting_),
              FailsWith(Code::kUnavailable, HasSubstr("IP address mismatch")));
  TlsOptions named = trusting_;
  named.server_name = "right.example";
  EXPECT_THAT(CallWith({"wrong.example", "127.0.0.1"}, named),
              FailsWith(Code::kUnavailable, HasSubstr("ostname mismatch")));
}

TEST_F(TlsTest, TheServerNameReplacesTheHost) {
  TlsOptions named = trusting_;
  named.server_name = "right.example";
  EXPECT_THAT(CallWith({"right.example"}, named), IsOk());
  named.server_name = "a.wild.example";
  EXPECT_THAT(CallWith({"*.wild.example"}, named), IsOk());
}

TEST_F(TlsTest, AnUnknownAuthorityIsRefused) {
  KeyPair other = *NewCertificateAuthority("other", 24h, RealClock());
  EXPECT_THAT(CallWith({"127.0.0.1"}, {.ca_pem = other.certificate_pem}),
              FailsWith(Code::kUnavailable, HasSubstr("TLS handshake")));
  EXPECT_THAT(CallWith({"127.0.0.1"}, {}),
              FailsWith(Code::kUnavailable, HasSubstr("TLS handshake")));
}

TEST_F(TlsTest, SystemRootsAreTrustedInAdditionToTheCaBundle) {
  TlsOptions both = trusting_;
  both.system_roots = true;
  EXPECT_THAT(CallWith({"127.0.0.1"}, both), IsOk());
}

TEST_F(TlsTest, InsecureAcceptsAnything) {
  EXPECT_THAT(CallWith({"other.example"}, {.insecure = true}), IsOk());
}

TEST_F(TlsTest, SendsTheClientCertificate) {
  KeyPair client = Serving({"client.example"});
  TlsOptions showing = trusting_;
  EXPECT_FALSE(CallWith({"127.0.0.1"}, showing, authority_.certificate_pem));
  showing.cert_pem = client.certificate_pem;
  showing.key_pem = client.private_key_pem;
  EXPECT_THAT(CallWith({"127.0.0.1"}, showing, authority_.certificate_pem), IsOk());
}

TEST_F(TlsTest, ResumesItsSessions) {
  ScriptedServerOptions options{.certificate = Serving({"127.0.0.1"})};
  ScriptedServer server(io_.get_executor(), options, Once);
  Origin origin = Origin::Of(server.url());
  origin.tls = trusting_;
  std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
  for (int i = 0; i < 3; ++i) {
    HttpRequest request{.timeout = 10s};
    EXPECT_THAT(kube::Run(io_, pool->Call(request)), IsOk());
  }
  EXPECT_EQ(server.accepted(), 3);
  EXPECT_EQ(server.resumed(), 2);
}

TEST_F(TlsTest, TheHandshakeWithAPlainServerFails) {
  ScriptedServer server(io_.get_executor(), {}, [](ScriptedPeer& peer) -> asio::awaitable<void> {
    std::string refusal = "HTTP/1.1 400 Bad Request\r\n\r\n";
    co_await peer.Write(refusal);
    co_await peer.UntilClosed();
  });
  Origin origin = Origin::Of(server.url());
  origin.scheme = "https";
  origin.tls = trusting_;
  std::unique_ptr<HttpPool> pool = HttpPool::New(io_.get_executor(), RealClock(), origin, {});
  HttpRequest request{.timeout = 10s};
  EXPECT_THAT(kube::Run(io_, pool->Call(request)),
              FailsWith(Code::kUnavailable, HasSubstr("TLS handshake")));
}

TEST_F(TlsTest, InconsistentOptionsAreInvalid) {
  KeyPair one = Serving({"a"});
  KeyPair two = Serving({"a"});
  const TlsOptions kRows[] = {
      {.ca_pem = "nonsense"},
      {.ca_pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
      {.cert_pem = one.certificate_pem, .insecure = true},
      {.key_pem = one.private_key_pem, .insecure = true},
      {.cert_pem = "nonsense", .key_pem = one.private_key_pem, .insecure = true},
      {.cert_pem = one.certificate_pem, .key_pem = "nonsense", .insecure = true},
      {.cert_pem = one.certificate_pem, .key_pem = two.private_key_pem, .insecure = true},
  };
  for (const TlsOptions& row : kRows) {
    EXPECT_THAT(TlsContext::New(row), FailsWith(Code::kInvalid));
    EXPECT_THAT(CallWith({"127.0.0.1"}, row), FailsWith(Code::kInvalid));
  }
}

}  // namespace
}  // namespace kube
