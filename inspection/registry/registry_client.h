// SPDX-License-Identifier: Apache-2.0
// RegistryClient: manifests and blobs of registries, by the OCI distribution protocol.
//
//   RegistryClient client(executor, clock, options);
//   Result<Document> manifest = co_await client.Manifest(repository, "v1", deadline);
//   Result<Document> config = co_await client.Blob(repository, digest, deadline);
//
// Answers challenges, goes on to the next credential after a 401, and learns how each registry wants to be asked, so
// that a known one costs one request (and a token where none is kept). Whatever was asked for by digest has that
// digest. Errors begin with "registry HOST: "; secrets are never in them. Thread: one. Source: OCI Distribution
// Spec 1.1.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspection/registry/authenticator.h"
#include "inspection/config/credentials.h"
#include "inspection/registry/fetcher.h"
#include "inspection/config/pull_source.h"
#include "inspection/registry/transport.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
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
  std::string content_type;
  std::string digest;  // of the body, proved: as asked for, else as the registry announced it, else sha256
};

struct RegistryClientOptions {
  TransportOptions transport;
  FetchOptions fetch;
  // Tokens kept.
  size_t max_tokens = 1024;
  // Registries whose habits are kept.
  size_t max_registries = 1024;
};

class RegistryClient {
 public:
  RegistryClient(kube::Executor executor, kube::Clock& clock, RegistryClientOptions options);

  // GET of a manifest by tag or digest.
  // Errors: kNotFound, kUnauthenticated and kPermissionDenied (after every credential), kThrottled, kUnavailable,
  // kInvalid (not the digest that was asked for or announced, too large), kDeadlineExceeded, kCancelled.
  kube::Async<Document> Manifest(const Repository& repository, std::string version, kube::TimePoint deadline);
  // HEAD of a manifest: the digest that the registry announces, which nothing proves; nullopt if it says none.
  kube::Async<std::optional<std::string>> ManifestDigest(const Repository& repository, std::string version,
                                                         kube::TimePoint deadline);
  // GET of a blob, at most kMaxManifestBytes.
  kube::Async<Document> Blob(const Repository& repository, std::string digest, kube::TimePoint deadline);

  // HTTP calls so far, those to token servers included; and those alone.
  uint64_t calls() const { return transport_.calls(); }
  uint64_t token_requests() const { return authenticator_.token_requests(); }

 private:
  // How a registry wants to be asked, learnt from its answers.
  struct Habits {
    std::string scheme;  // empty: not known yet
    std::optional<Challenge> challenge;
  };
  struct Call {
    std::string method;
    std::string path;  // "manifests/v1", below the repository
    std::string accept;
    kube::TimePoint deadline;
    int max_tries = 100;
  };

  // A 2xx answer.
  kube::Async<kube::HttpResponse> Get(const Repository& repository, Call call);
  kube::Async<kube::HttpResponse> WithScheme(const Repository& repository, const Call& call, std::string scheme);
  kube::Async<kube::HttpResponse> WithCredential(const Repository& repository, const Call& call, const kube::Url& url,
                                                 const Credential* credential);
  kube::Async<kube::HttpResponse> Send(const Repository& repository, const Call& call, const kube::Url& url,
                                       std::string authorization);
  Habits& HabitsOf(const PullSource& source);

  kube::Clock& clock_;
  RegistryClientOptions options_;
  Transport transport_;
  Fetcher fetcher_;
  Authenticator authenticator_;
  std::map<std::string, Habits> habits_;
};

}  // namespace inspection
