// SPDX-License-Identifier: Apache-2.0
// FakeRegistry: an OCI registry with a token server and a blob store, on 127.0.0.1 and on the
// test's event loop.
//
//   FakeRegistry registry(io.get_executor(), {});
//   registry.PutIndex("app", "1", {{"linux", "amd64"}, {"linux", "arm64"}});
//   registry.InjectFault("manifests/", FakeRegistry::Fault::kEndlessBody);
//   ... inspect registry.host() + "/app:1" ...
//   EXPECT_THAT(registry.log(), ElementsAre("GET /v2/app/manifests/1"));
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/base/manifest.h"
#include "kube/base/async.h"
#include "kube/crypto/certificates.h"
#include "kube/http/testing/scripted_server.h"

namespace inspection {

struct FakeRegistryOptions {
  // With a certificate it serves TLS.
  std::optional<kube::KeyPair> certificate;
  // Requires a client certificate of this authority, PEM.
  std::string client_ca_pem;
  // The delay before each answer.
  std::chrono::milliseconds latency{0};
};

class FakeRegistry {
 public:
  enum class Fault {
    kEndlessBody,  // a body without an end
    kStalledBody,  // half a megabyte, then nothing
    kOtherBody,    // other content than the digest's
    kShortBody,    // less than Content-Length, then the connection closes
    kThrottled,    // 429, Retry-After: 1
    kBroken,       // 503
    kReset,        // the connection is reset before an answer
    kSilent,       // no answer
    kLyingDigest,  // the digest of another body
    kOtherRange,   // one byte later than the requested range
  };

  FakeRegistry(kube::Executor executor, FakeRegistryOptions options);
  ~FakeRegistry();

  // "127.0.0.1:PORT"
  std::string host() const;
  std::string url() const;

  // Adds content; each returns its digest. Content with tag "" has only a digest.
  std::string PutBlob(std::string content);
  std::string PutManifest(const std::string& repository, const std::string& tag,
                          std::string content, std::string_view media_type);
  std::string PutImage(const std::string& repository, const std::string& tag,
                       const Platform& platform, const std::string& labels = "{}");
  std::string PutIndex(const std::string& repository, const std::string& tag,
                       const std::vector<Platform>& platforms);
  void Remove(const std::string& repository, const std::string& tag);

  // Every request needs this user (Basic), or a token that the token server issues to this user for
  // the password or for `refresh_token`. Several users may be added; user "" allows anonymous
  // tokens.
  void RequireBasic(const std::string& user, const std::string& password);
  void RequireToken(const std::string& user, const std::string& password);
  void AcceptRefreshToken(const std::string& refresh_token);
  // The URL of the token server in challenges.
  void UseTokenServer(const std::string& url);
  // Serves `repository`, or everything, without authentication.
  void Publish(const std::string& repository);
  void AllowAnonymous();
  // Invalidates all issued tokens.
  void RevokeTokens();

  // Ignores ranges of blobs from now on, as some registries do.
  void IgnoreRanges();
  // Bytes of blobs that were sent.
  uint64_t blob_bytes() const;

  // Of a page of tags.
  void LimitTags(size_t most);

  // The next `times` requests whose path contains `part` fail like this.
  void InjectFault(const std::string& part, Fault fault, int times = 1'000'000);
  // Requests whose path contains `part` are redirected to `location`.
  void Redirect(const std::string& part, const std::string& location);
  // Requests with this auth scheme ("Basic", "Bearer") are answered with 400.
  void RejectScheme(const std::string& scheme);
  void ClearFaults();

  // The requests in order, like "GET /v2/app/manifests/1"; and the number that contain `part`.
  const std::vector<std::string>& log() const;
  int Count(std::string_view part) const;
  // The Authorization headers in order; "" for requests without one.
  const std::vector<std::string>& authorizations() const;
  void ClearLog();

 private:
  struct State;
  static kube::asio::awaitable<void> Serve(std::shared_ptr<State> state, kube::ScriptedPeer& peer);

  std::shared_ptr<State> state_;
  std::unique_ptr<kube::ScriptedServer> server_;
};

}  // namespace inspection
