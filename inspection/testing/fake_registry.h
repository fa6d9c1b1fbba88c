// SPDX-License-Identifier: Apache-2.0
// FakeRegistry: an OCI registry with its token server and its blob store, on 127.0.0.1 and on the
// test's own event loop.
//
//   FakeRegistry registry(io.get_executor(), {});
//   registry.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
//   registry.Misbehave("manifests/", FakeRegistry::Trouble::kEndlessBody);
//   ... inspect registry.host() + "/app:1" ...
//   EXPECT_THAT(registry.log(), ElementsAre("GET /v2/app/manifests/1"));
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/manifest.h"
#include "kube/base/async.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/scripted_server.h"

namespace inspection {

struct FakeRegistryOptions {
  // With a certificate it speaks TLS.
  std::optional<kube::KeyPair> certificate;
  // Asks for a client certificate of this authority, PEM.
  std::string client_ca_pem;
  // Before each answer.
  std::chrono::milliseconds latency{0};
};

class FakeRegistry {
 public:
  enum class Trouble {
    kEndlessBody,  // megabytes without end
    kStalledBody,  // half a megabyte of it, then nothing
    kOtherBody,    // not what the digest says
    kShortBody,    // less than Content-Length says, then the connection closes
    kThrottled,    // 429, Retry-After: 1
    kBroken,       // 503
    kReset,        // the connection goes away before an answer
    kSilent,       // no answer ever
    kLyingDigest,  // with another one than the body's
  };

  FakeRegistry(kube::Executor executor, FakeRegistryOptions options);
  ~FakeRegistry();

  // "127.0.0.1:PORT"
  std::string host() const;
  std::string url() const;

  // Content; each returns its digest. A tag of "" makes it known by digest only.
  std::string PutBlob(std::string content);
  std::string PutManifest(const std::string& repository, const std::string& tag,
                          std::string content, std::string_view media_type);
  std::string PutImage(const std::string& repository, const std::string& tag,
                       const Platform& platform, const std::string& labels = "{}");
  std::string PutIndex(const std::string& repository, const std::string& tag,
                       const std::vector<Platform>& platforms);
  void Remove(const std::string& repository, const std::string& tag);

  // From now on every request needs this user (Basic), or a token that the token server gives to
  // this user, for a password or for `refresh_token`. Several users may be added; "" lets anybody
  // have a token.
  void RequireBasic(const std::string& user, const std::string& password);
  void RequireToken(const std::string& user, const std::string& password);
  void AcceptRefreshToken(const std::string& refresh_token);
  // Tokens are to be fetched there.
  void UseTokenServer(const std::string& url);
  // `repository` is served to anybody all the same; and all are.
  void Publish(const std::string& repository);
  void RequireNothing();
  // Tokens given so far are worth nothing any more.
  void RevokeTokens();

  // The next `times` requests whose path holds `part` go wrong.
  void Misbehave(const std::string& part, Trouble trouble, int times = 1'000'000);
  // Requests whose path holds `part` are answered with a redirect to `location`.
  void Redirect(const std::string& part, const std::string& location);
  // Requests with such an Authorization ("Basic", "Bearer") are answered with 400.
  void Refuse(const std::string& scheme);
  void Behave();

  // "GET /v2/app/manifests/1", in order; and how many hold `part`.
  const std::vector<std::string>& log() const;
  int Count(std::string_view part) const;
  // The Authorization headers, as received; "" where there was none.
  const std::vector<std::string>& authorizations() const;
  void ClearLog();

 private:
  struct State;
  static kube::asio::awaitable<void> Serve(std::shared_ptr<State> state, kube::ScriptedPeer& peer);

  std::shared_ptr<State> state_;
  std::unique_ptr<kube::ScriptedServer> server_;
};

}  // namespace inspection
