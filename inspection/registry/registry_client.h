// SPDX-License-Identifier: Apache-2.0
// RegistryClient: manifests and blobs of registries, by the OCI distribution protocol.
//
//   RegistryClient client(executor, clock, options);
//   Result<Document> manifest = co_await client.Manifest(repository, "v1", deadline);
//   Result<Document> config = co_await client.Blob(repository, digest, deadline);
//
// Answers challenges and goes on to the next credential after a 401. What was observed of a
// repository (its challenge, its scheme) saves a round trip, so that a known one costs one request
// (and a token where none is kept); it never decides: where it does not lead to the document, the
// registry is asked as if nothing were known. Whatever was asked for by digest has that digest.
// Errors begin with "registry HOST: "; secrets are never in them. Thread: one. Source: OCI
// Distribution Spec 1.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "inspection/config/credentials.h"
#include "inspection/config/pull_source.h"
#include "inspection/registry/authenticator.h"
#include "inspection/registry/fetcher.h"
#include "inspection/registry/transport.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/base/slots.h"

namespace inspection {

// One repository, and who asks.
struct Repository {
  PullSource source;
  // Tried in order; after them it is asked without any.
  std::vector<Credential> credentials;
};

// To be let go before anything else is asked for: a large body keeps others from theirs.
struct Document {
  std::string body;
  kube::Slots::Lease body_lease;
  std::string
      digest;  // of the body, proved: as asked for, else as the registry announced it, else sha256
};

struct RegistryClientOptions {
  TransportOptions transport;
  FetchOptions fetch;
  // Tokens kept.
  size_t max_tokens = 1024;
  // Repositories whose challenge is remembered; and insecure registries whose scheme is.
  size_t max_observed = 1024;
};

class RegistryClient {
 public:
  RegistryClient(kube::Executor executor, kube::Clock& clock, RegistryClientOptions options);

  // GET of a manifest by tag or digest.
  // Errors: kNotFound, kUnauthenticated and kPermissionDenied (after every credential), kThrottled,
  // kUnavailable, kInvalid (not the digest that was asked for or announced, too large),
  // kDeadlineExceeded, kCancelled.
  kube::Async<Document> Manifest(const Repository& repository, std::string version,
                                 kube::TimePoint deadline);
  // HEAD of a manifest: the digest that the registry announces, which nothing proves; nullopt if it
  // says none.
  kube::Async<std::optional<std::string>> ManifestDigest(const Repository& repository,
                                                         std::string version,
                                                         kube::TimePoint deadline);
  // GET of a blob, at most kMaxManifestBytes.
  kube::Async<Document> Blob(const Repository& repository, std::string digest,
                             kube::TimePoint deadline);

  // HTTP calls so far, those to token servers included; and those alone.
  uint64_t calls() const { return transport_.calls(); }
  uint64_t token_requests() const { return authenticator_.token_requests(); }

 private:
  struct Call {
    std::string method;
    std::string path;  // "manifests/v1", below the repository
    std::string accept;
    kube::TimePoint deadline;
    int max_tries = 100;
  };

  struct Question {
    Challenge challenge;
    Sender asked_by;
  };
  // What asking with credentials came to.
  struct Attempt {
    // With `refused`: what the last credential was told.
    kube::Result<kube::HttpResponse> answer;
    // No credential was accepted, or no token could be had.
    bool refused = false;
  };

  // A 2xx answer.
  kube::Async<kube::HttpResponse> Get(const Repository& repository, Call call);
  kube::Async<kube::HttpResponse> WithEitherScheme(const Repository& repository, Call call);
  kube::Async<kube::HttpResponse> WithScheme(const Repository& repository, const Call& call,
                                             std::string scheme);
  // With each credential in turn, then with none where that is not the same as asking without an
  // Authorization header. Tokens have to come until `token_deadline`.
  kube::Async<Attempt> WithCredentials(const Repository& repository, const Call& call,
                                       const kube::Url& url, const Question& question,
                                       kube::TimePoint token_deadline);
  kube::Async<kube::HttpResponse> Send(const Repository& repository, const Call& call,
                                       const kube::Url& url, std::string authorization);

  kube::Clock& clock_;
  RegistryClientOptions options_;
  Transport transport_;
  Fetcher fetcher_;
  Authenticator authenticator_;
  // By location and repository: those of one host may have different token servers, or none.
  kube::LruMap<Question> challenges_;
  // By location, of insecure ones only: the scheme that they answered by.
  kube::LruMap<std::string> schemes_;
};

}  // namespace inspection
