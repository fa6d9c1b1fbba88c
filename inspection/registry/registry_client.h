// SPDX-License-Identifier: Apache-2.0
// RegistryClient: manifests and blobs of registries, by the OCI distribution protocol.
//
//   RegistryClient client(executor, clock, options);
//   Result<Document> manifest = co_await client.Manifest(repository, "v1", deadline);
//   Result<Document> config = co_await client.Blob(repository, digest, deadline);
//
// Answers challenges, and continues with the next credential after a 401. The challenge of a
// repository and the scheme of a registry are cached, so that a known repository costs one request
// (and one for a token where none is cached). The cache only saves round trips: where it does not
// lead to the document, the registry is called again without it. What was requested by digest is
// verified to have that digest. Errors begin with "registry HOST: "; secrets are never in them.
// Thread: one.
// Source: OCI Distribution Spec 1.1.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/config/credentials.h"
#include "inspection/config/pull_source.h"
#include "inspection/registry/authenticator.h"
#include "inspection/registry/circuit_breaker.h"
#include "inspection/registry/fetcher.h"
#include "inspection/registry/transport.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/base/slots.h"
#include "kube/http/pool.h"

namespace inspection {

// One repository with the credentials to read it with.
struct Repository {
  PullSource source;
  // Used in order; the last attempt is anonymous.
  std::vector<Credential> credentials;
};

// Destroy it before the next request: a large body holds a slot that other requests wait for.
struct Document {
  std::string body;
  kube::Slots::Lease body_lease;
  // The verified digest of the body: the requested one, else the one that the registry sent, else
  // sha256.
  std::string digest;
};

inline constexpr size_t kMaxTags = 10'000;

struct RegistryClientOptions {
  TransportOptions transport;
  FetchOptions fetch;
  // Tokens in the cache.
  size_t max_tokens = 1024;
  // Repositories whose challenge is cached, and insecure registries whose scheme is; a third of
  // what is known to be down.
  size_t max_observed = 1024;
  CircuitBreakerOptions breaker;
};

class RegistryClient {
 public:
  RegistryClient(kube::Executor executor, kube::Clock& clock, RegistryClientOptions options);

  // GET of a manifest by tag or digest.
  // Errors: kNotFound, kUnauthenticated and kPermissionDenied (after every credential), kThrottled,
  // kUnavailable, kInvalid (not the digest that was requested or sent by the registry, too large),
  // kDeadlineExceeded, kCancelled. While something is down (circuit_breaker.h), the last failure
  // without a call: of a host to which no connection is possible, a document that cannot be read,
  // or a limit of requests for these credentials.
  kube::Async<Document> Manifest(const Repository& repository, std::string version,
                                 kube::TimePoint deadline);
  // HEAD of a manifest: the digest that the registry sends, unverified; nullopt if it sends none.
  kube::Async<std::optional<std::string>> ManifestDigest(const Repository& repository,
                                                         std::string version,
                                                         kube::TimePoint deadline);
  // The tags of the repository, at most kMaxTags, of at most 20 pages; for tools.
  kube::Async<std::vector<std::string>> Tags(const Repository& repository,
                                             kube::TimePoint deadline);
  // GET of a blob, at most kMaxManifestBytes.
  kube::Async<Document> Blob(const Repository& repository, std::string digest,
                             kube::TimePoint deadline);

  // Gets the next piece of a blob; false ends the call early, which is no error.
  using ReceivePiece = std::function<bool(std::string_view)>;
  // GET of `length` bytes of a blob from `offset` on, for blobs of any size: no more than a piece
  // is in memory. A connection that breaks is continued where it broke. A registry that ignores the
  // range sends the whole blob: then `receive` gets all of it from `offset` on, more than `length`.
  // Nothing is verified: the bytes are the registry's word, until the caller has the digest of all
  // of them. Returns the number of bytes that were received.
  // Errors: as Manifest(); kInvalid for another range than the requested one.
  kube::Async<uint64_t> BlobRange(const Repository& repository, std::string digest, uint64_t offset,
                                  uint64_t length, ReceivePiece receive, kube::TimePoint deadline);

 private:
  struct Call {
    std::string method;
    std::string path;  // "manifests/v1", below the repository
    std::string accept;
    kube::TimePoint deadline;
    int max_attempts = 100;
    // As in FetchRequest.
    bool* answered = nullptr;
    kube::BodySink* body_sink = nullptr;
    std::chrono::milliseconds call_timeout{0};
    std::string range;  // "bytes=0-4095"
  };

  struct CachedChallenge {
    Challenge challenge;
    Referrer sender;
  };
  // The outcome of calls with credentials.
  struct Attempt {
    // With `refused`: the answer to the last credential.
    kube::Result<kube::HttpResponse> answer;
    // No credential was accepted, or there was no token.
    bool refused = false;
  };

  // What a call depends on; each may be down. A registry that is a proxy fails, and limits
  // requests, as the registry behind it does: one repository must not affect others, nor one
  // document those beside it.
  struct Circuits {
    std::string host;      // can be connected to
    std::string document;  // can be read
    std::string quota;     // of GETs of the repository, with these credentials
  };
  static Circuits CircuitsOf(const Repository& repository, const Call& call);
  struct Outcome {
    kube::TimePoint started;
    bool answered = false;  // by the registry itself, if not with `response`
    const kube::Result<kube::HttpResponse>& response;
  };
  void Record(const Circuits& circuits, const Outcome& outcome);

  // Returns an answer with status 200 or, to a range, 206.
  kube::Async<kube::HttpResponse> Get(const Repository& repository, Call call);
  kube::Async<kube::HttpResponse> WithEitherScheme(const Repository& repository, Call call);
  kube::Async<kube::HttpResponse> WithScheme(const Repository& repository, const Call& call,
                                             std::string scheme);
  // Calls with each credential in turn, then anonymously where the challenge's scheme has a header
  // for that. `token_deadline` is for the token servers.
  kube::Async<Attempt> WithCredentials(const Repository& repository, const Call& call,
                                       const kube::Url& url, const CachedChallenge& asked,
                                       kube::TimePoint token_deadline);
  kube::Async<kube::HttpResponse> Send(const Repository& repository, const Call& call,
                                       const kube::Url& url, std::string authorization);

  kube::Clock& clock_;
  RegistryClientOptions options_;
  Transport transport_;
  Fetcher fetcher_;
  Authenticator authenticator_;
  // Challenges by location and repository: repositories of one host may have different token
  // servers, or none.
  kube::LruMap<CachedChallenge> challenges_;
  CircuitBreaker breaker_;
  // The scheme with which insecure registries answered, by location.
  kube::LruMap<std::string> schemes_;
};

}  // namespace inspection
