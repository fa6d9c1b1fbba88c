// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/registry_client.h"

#include <algorithm>

#include "inspection/digest.h"
#include "inspection/manifest.h"
#include "inspection/reference.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::HttpResponse;
using kube::Result;
using kube::TimePoint;
using kube::Url;

// The challenge that we can answer: Bearer before Basic.
std::optional<Challenge> ChallengeOf(const HttpResponse& response) {
  std::optional<Challenge> basic;
  for (std::string_view value : response.Headers("WWW-Authenticate")) {
    for (Challenge& challenge : ParseChallenges(value)) {
      if (challenge.scheme == "bearer" && !challenge.Param("realm").empty()) return std::move(challenge);
      if (challenge.scheme == "basic" && !basic) basic = std::move(challenge);
    }
  }
  return basic;
}

std::string Accepted() {
  std::string all;
  for (std::string_view type : {kOciIndex, kDockerList, kOciManifest, kDockerManifest, kDockerSchema1Signed}) {
    all += (all.empty() ? "" : ", ") + std::string(type);
  }
  return all;
}

bool Refused(const Result<HttpResponse>& response) {
  return response && (response->status == 401 || response->status == 403);
}

}  // namespace

RegistryClient::RegistryClient(kube::Executor executor, kube::Clock& clock, RegistryClientOptions options)
    : clock_(clock),
      options_(std::move(options)),
      transport_(std::move(executor), clock, options_.transport),
      fetcher_(transport_, clock, options_.fetch),
      authenticator_(fetcher_, clock, options_.max_tokens) {}

RegistryClient::Habits& RegistryClient::HabitsOf(const PullSource& source) {
  // Names come from pods: forget all rather than grow without end.
  std::string key = source.host.scheme + "://" + source.registry + source.host.path;
  if (habits_.size() >= options_.max_registries && !habits_.contains(key)) habits_.clear();
  return habits_[key];
}

Async<HttpResponse> RegistryClient::Send(const Repository& repository, const Call& call, const Url& url,
                                         std::string authorization) {
  FetchRequest request{.url = url,
                       .method = call.method,
                       .authorization = std::move(authorization),
                       .max_body_bytes = kMaxManifestBytes,
                       .insecure = repository.source.insecure,
                       .deadline = call.deadline,
                       .max_tries = call.max_tries};
  request.origin_headers = repository.source.host.headers;
  if (!call.accept.empty()) request.headers.emplace_back("Accept", call.accept);
  Result<HttpResponse> response = co_await fetcher_.Fetch(std::move(request), nullptr);
  if (response && response->status == 401) {
    std::optional<Challenge> challenge = ChallengeOf(*response);
    if (challenge) HabitsOf(repository.source).challenge = std::move(challenge);
  }
  co_return response;
}

// Asks as `credential`, by the challenge that is known. A kept token that is refused is replaced once.
Async<HttpResponse> RegistryClient::WithCredential(const Repository& repository, const Call& call, const Url& url,
                                                   const Credential* credential) {
  for (bool again = false;; again = true) {
    AuthQuestion question{.registry = url,
                          .repository = repository.source.repository,
                          .credential = credential,
                          .challenge = *HabitsOf(repository.source).challenge,
                          .insecure = repository.source.insecure,
                          .deadline = call.deadline};
    Result<std::string> header = co_await authenticator_.Header(question);
    if (!header) co_return header.error();
    Result<HttpResponse> response = co_await Send(repository, call, url, std::move(*header));
    if (!response || response->status != 401) co_return response;
    bool had_token = authenticator_.Forget(question);
    if (again || !had_token) co_return response;
  }
}

Async<HttpResponse> RegistryClient::WithScheme(const Repository& repository, const Call& call, std::string scheme) {
  const HostPeculiarities& peculiar = repository.source.host;
  std::string host = repository.source.registry == kDockerHub ? std::string(kDockerHubHost) : repository.source.registry;
  std::string query = peculiar.stands_in_for.empty() ? "" : "?ns=" + peculiar.stands_in_for;
  Result<Url> url = Url::Parse(scheme + "://" + host + peculiar.path + "/" + repository.source.repository + "/" +
                               call.path + query);
  if (!url) co_return url.error();

  // Without a header, until the registry is known to want one.
  Habits known = HabitsOf(repository.source);
  if (!known.challenge) {
    std::string nobody;
    Result<HttpResponse> response = co_await Send(repository, call, *url, nobody);
    if (response && response->status != 401) HabitsOf(repository.source).scheme = scheme;
    if (!response || response->status != 401) co_return response;
    if (!HabitsOf(repository.source).challenge) {
      co_return Error::Unauthenticated("401 Unauthorized, without a challenge that we can answer");
    }
  }

  // As each who may, then as nobody.
  Result<HttpResponse> last = Error::Unauthenticated("401 Unauthorized");
  size_t count = repository.credentials.size();
  for (size_t i = 0; i <= count; ++i) {
    const Credential* credential = i < count ? &repository.credentials[i] : nullptr;
    Result<HttpResponse> response = co_await WithCredential(repository, call, *url, credential);
    bool refused = Refused(response) || FailedWith(response, Code::kUnauthenticated);
    if (!refused) {
      if (response) {
        HabitsOf(repository.source).scheme = scheme;
        transport_.Trace(credential == nullptr ? "asked without a credential" : "asked with " + credential->source);
      }
      co_return response;
    }
    // What a real credential was told says more than what nobody was.
    if (i == 0 || i < count) last = std::move(response);
  }
  std::string tried = " with " + std::to_string(count) + (count == 1 ? " credential" : " credentials") + " tried";
  if (!last) co_return Error::Unauthenticated("401 Unauthorized" + tried + ": " + last.error().message());
  co_return Error::FromHttpStatus(last->status, "", DescribeStatus(last->status, last->body) + tried);
}

Async<HttpResponse> RegistryClient::Get(const Repository& repository, Call call) {
  co_await kube::IgnoreCancellation();
  std::string about = "registry " + repository.source.registry;
  const std::string& wanted = repository.source.host.scheme;
  std::string scheme = wanted.empty() ? HabitsOf(repository.source).scheme : wanted;
  bool known = !scheme.empty();
  if (!known) scheme = "https";
  // Behind an insecure registry's port there may be somebody who waits for ever for plain HTTP: leave time to try that.
  bool try_http = !known && repository.source.insecure;
  Call first = call;
  if (try_http) first.max_tries = 1;
  if (try_http) first.deadline = std::min(first.deadline, clock_.Now() + (first.deadline - clock_.Now()) / 3);
  Result<HttpResponse> response = co_await WithScheme(repository, first, scheme);
  bool spoke =
      response || FailedWith(response, Code::kUnauthenticated) || FailedWith(response, Code::kPermissionDenied);
  if (try_http && !spoke && !FailedWith(response, Code::kCancelled)) {
    scheme = "http";
    response = co_await WithScheme(repository, call, scheme);
  }
  if (!response) co_return response.error().Prefix(about);
  if (response->status == 200) co_return response;

  int status = response->status < 400 ? 500 : response->status;
  Error error = Error::FromHttpStatus(status, "", about + ": " + DescribeStatus(response->status, response->body));
  std::optional<std::chrono::seconds> wait = RetryAfter(*response);
  if (wait) co_return error.WithRetryAfter(*wait);
  co_return error;
}

Async<Document> RegistryClient::Manifest(const Repository& repository, std::string version, TimePoint deadline) {
  Call call{.method = "GET", .path = "manifests/" + version, .accept = Accepted(), .deadline = deadline};
  Result<HttpResponse> response = co_await Get(repository, std::move(call));
  if (!response) co_return response.error();
  Document document;
  document.content_type = response->Header("Content-Type");
  document.body = std::move(response->body);
  document.body_lease = std::move(response->body_lease);

  // By digest: proof. By tag: at least the registry must agree with itself.
  std::string announced(response->Header("Docker-Content-Digest"));
  // The digest of a signed schema 1 manifest is that of its payload.
  std::string payload;
  if (document.content_type.starts_with(kDockerSchema1Signed)) payload = Schema1Payload(document.body);
  const std::string& named = payload.empty() ? document.body : payload;
  std::string wanted = IsDigest(version) ? version : IsDigest(announced) ? announced : Sha256Digest(named);
  Result<void> verified = VerifyDigest(wanted, named);
  if (!verified) co_return verified.error().Prefix("registry " + repository.source.registry + ": manifest " + version);
  document.digest = std::move(wanted);
  co_return document;
}

Async<std::optional<std::string>> RegistryClient::ManifestDigest(const Repository& repository, std::string version,
                                                                 TimePoint deadline) {
  Call call{.method = "HEAD", .path = "manifests/" + version, .accept = Accepted(), .deadline = deadline};
  Result<HttpResponse> response = co_await Get(repository, std::move(call));
  if (!response) co_return response.error();
  std::optional<std::string> digest;
  std::string announced(response->Header("Docker-Content-Digest"));
  if (IsDigest(announced)) digest = std::move(announced);
  co_return digest;
}

Async<Document> RegistryClient::Blob(const Repository& repository, std::string digest, TimePoint deadline) {
  Call call{.method = "GET", .path = "blobs/" + digest, .accept = "", .deadline = deadline};
  Result<HttpResponse> response = co_await Get(repository, std::move(call));
  if (!response) co_return response.error();
  Result<void> verified = VerifyDigest(digest, response->body);
  if (!verified) co_return verified.error().Prefix("registry " + repository.source.registry + ": blob");
  Document document;
  document.body = std::move(response->body);
  document.body_lease = std::move(response->body_lease);
  document.digest = std::move(digest);
  co_return document;
}

}  // namespace inspection
