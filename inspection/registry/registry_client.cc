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
      if (challenge.scheme == "bearer" && !challenge.Param("realm").empty())
        return std::move(challenge);
      if (challenge.scheme == "basic" && !basic) basic = std::move(challenge);
    }
  }
  return basic;
}

std::string Accepted() {
  std::string all;
  for (std::string_view type : {kOciIndex, kDockerList, kOciManifest, kDockerManifest}) {
    all += (all.empty() ? "" : ", ") + std::string(type);
  }
  return all;
}

// Longer ones are answered, and not remembered: registries, which pods choose, say how long they
// are.
constexpr size_t kRememberedChallenge = 1024;

bool IsShort(const Challenge& challenge) {
  size_t bytes = 0;
  for (const auto& [name, value] : challenge.params) bytes += name.size() + value.size();
  return bytes <= kRememberedChallenge;
}

bool Refused(const HttpResponse& response) {
  return response.status == 401 || response.status == 403;
}

bool Succeeded(const Result<HttpResponse>& response) { return response && response->status == 200; }

// Another way of asking would be answered no better: nothing answers, or it is busy or broken.
bool IsDown(const Result<HttpResponse>& response) {
  return !response || response->status == 429 || response->status >= 500;
}

// Both are answered by the same header.
bool Same(const Challenge& a, const Challenge& b) {
  return a.scheme == b.scheme && a.Param("realm") == b.Param("realm") &&
         a.Param("service") == b.Param("service") && a.Param("scope") == b.Param("scope");
}

// Which connections an observation is true for. What was seen over one that anybody could have
// answered is for such connections alone.
std::string LocationOf(const PullSource& source, const std::string& scheme) {
  return scheme + (source.insecure ? "!" : "") + "://" + source.registry + source.host.path;
}

std::string RepositoryAt(const PullSource& source, const std::string& scheme) {
  return LocationOf(source, scheme) + " " + source.repository;
}

}  // namespace

RegistryClient::RegistryClient(kube::Executor executor, kube::Clock& clock,
                               RegistryClientOptions options)
    : clock_(clock),
      options_(std::move(options)),
      transport_(std::move(executor), clock, options_.transport),
      fetcher_(transport_, clock, options_.fetch),
      authenticator_(fetcher_, clock, options_.max_tokens),
      challenges_(options_.max_observed),
      schemes_(options_.max_observed) {}

Async<HttpResponse> RegistryClient::Send(const Repository& repository, const Call& call,
                                         const Url& url, std::string authorization) {
  FetchRequest request{.url = url,
                       .method = call.method,
                       .authorization = std::move(authorization),
                       .max_body_bytes = kMaxManifestBytes,
                       .insecure = repository.source.insecure,
                       .deadline = call.deadline,
                       .max_tries = call.max_tries};
  request.origin_headers = repository.source.host.headers;
  if (!call.accept.empty()) request.headers.emplace_back("Accept", call.accept);
  std::optional<Sender> nobody;
  Result<HttpResponse> response = co_await fetcher_.Fetch(std::move(request), std::move(nobody));
  co_return response;
}

Async<RegistryClient::Attempt> RegistryClient::WithCredentials(const Repository& repository,
                                                               const Call& call, const Url& url,
                                                               const Question& asked,
                                                               TimePoint token_deadline) {
  Attempt attempt{Error::Unauthenticated("401 Unauthorized"), /*refused=*/true};
  size_t count = repository.credentials.size();
  for (size_t i = 0; i <= count; ++i) {
    const Credential* credential = i < count ? &repository.credentials[i] : nullptr;
    if (credential == nullptr && asked.challenge.scheme != "bearer") break;
    AuthQuestion question{.registry = asked.asked_by,
                          .repository = repository.source.repository,
                          .credential = credential,
                          .challenge = asked.challenge,
                          .insecure = repository.source.insecure,
                          .deadline = token_deadline};
    Result<HttpResponse> response = Error::Unauthenticated("");
    // A kept token that is refused is replaced once.
    for (bool again = false;; again = true) {
      Result<std::string> header = co_await authenticator_.Header(question);
      if (!header) {
        response = header.error();
        break;
      }
      response = co_await Send(repository, call, url, std::move(*header));
      if (!response || !Refused(*response)) {
        if (response) {
          transport_.Trace(credential == nullptr ? "asked without a credential"
                                                 : "asked with " + credential->source);
        }
        attempt = {std::move(response), /*refused=*/false};
        co_return attempt;
      }
      bool had_token = response->status == 401 && authenticator_.Forget(question);
      if (again || !had_token) break;
    }
    // The token server is down, or we are to stop: the same for every credential.
    bool refused = response || FailedWith(response, Code::kUnauthenticated);
    attempt.refused = !FailedWith(response, Code::kCancelled);
    // What a credential was told says more than what was told without any.
    if (i == 0 || i < count) attempt.answer = std::move(response);
    if (!refused) break;
  }
  co_return attempt;
}

Async<HttpResponse> RegistryClient::WithScheme(const Repository& repository, const Call& call,
                                               std::string scheme) {
  const HostPeculiarities& peculiar = repository.source.host;
  std::string host = repository.source.registry == kDockerHub ? std::string(kDockerHubHost)
                                                              : repository.source.registry;
  std::string query = peculiar.stands_in_for.empty() ? "" : "?ns=" + peculiar.stands_in_for;
  Result<Url> url = Url::Parse(scheme + "://" + host + peculiar.path + "/" +
                               repository.source.repository + "/" + call.path + query);
  if (!url) co_return url.error();

  // By the challenge of last time, for half of the time at most: its token server may be gone.
  std::string key = RepositoryAt(repository.source, scheme);
  std::optional<Question> remembered;
  if (const Question* known = challenges_.Find(key); known != nullptr) remembered = *known;
  Attempt attempt{Error::Unauthenticated("401 Unauthorized"), /*refused=*/true};
  if (remembered) {
    TimePoint now = clock_.Now();
    TimePoint token_deadline = now + (call.deadline - now) / 2;
    Result<Attempt> tried =
        co_await WithCredentials(repository, call, *url, *remembered, token_deadline);
    attempt = std::move(*tried);
    if (Succeeded(attempt.answer) || (!attempt.refused && IsDown(attempt.answer)))
      co_return std::move(attempt.answer);
    // It has to prove itself once more.
    challenges_.Erase(key);
  }

  // Without a header; most public images need none.
  std::string no_header;
  Result<HttpResponse> response = co_await Send(repository, call, *url, no_header);
  if (!response || response->status != 401) co_return response;
  std::optional<Challenge> challenge = ChallengeOf(*response);
  if (!challenge)
    co_return Error::Unauthenticated("401 Unauthorized, without a challenge that we can answer");
  Question question{std::move(*challenge), {*url, response->peer}};
  if (IsShort(question.challenge)) challenges_.Put(key, question);

  // As each who may. What was asked a moment ago would be answered the same now.
  bool answered = remembered && Same(remembered->challenge, question.challenge) &&
                  remembered->asked_by.address == question.asked_by.address;
  if (!answered) {
    Result<Attempt> tried =
        co_await WithCredentials(repository, call, *url, question, call.deadline);
    attempt = std::move(*tried);
  }
  if (!attempt.refused) co_return std::move(attempt.answer);
  size_t count = repository.credentials.size();
  std::string tried =
      " with " + std::to_string(count) + (count == 1 ? " credential" : " credentials") + " tried";
  if (!attempt.answer) co_return attempt.answer.error().Prefix("401 Unauthorized" + tried);
  const HttpResponse& last = *attempt.answer;
  co_return Error::FromHttpStatus(last.status, "", DescribeStatus(last.status, last.body) + tried);
}

// Behind an insecure registry's port there may be TLS, plain HTTP, or somebody who waits for ever
// for the other.
Async<HttpResponse> RegistryClient::WithEitherScheme(const Repository& repository, Call call) {
  const PullSource& source = repository.source;
  std::string key = LocationOf(source, "");
  const std::string* observed = schemes_.Find(key);
  bool known = observed != nullptr;
  std::string first = known ? *observed : "https";
  std::string second = first == "https" ? "http" : "https";

  // The other scheme must have some time left, and more where this one is but a guess.
  Call guess = call;
  kube::Duration left = call.deadline - clock_.Now();
  guess.deadline = call.deadline - (known ? left / 3 : left * 2 / 3);
  if (!known) guess.max_tries = 1;
  Result<HttpResponse> response = co_await WithScheme(repository, guess, first);
  // 400 is what a server of TLS says to plain HTTP.
  auto spoke = [](const Result<HttpResponse>& answer) {
    if (answer) return answer->status != 400;
    return FailedWith(answer, Code::kUnauthenticated) ||
           FailedWith(answer, Code::kPermissionDenied);
  };
  if (spoke(response)) {
    schemes_.Put(key, std::move(first));
    co_return response;
  }
  if (FailedWith(response, Code::kCancelled)) co_return response;
  schemes_.Erase(key);
  Result<HttpResponse> other = co_await WithScheme(repository, call, second);
  if (spoke(other)) schemes_.Put(key, std::move(second));
  // Of two failures, that of the scheme by which it was reached before.
  if (!other && known) co_return response;
  co_return other;
}

Async<HttpResponse> RegistryClient::Get(const Repository& repository, Call call) {
  co_await kube::IgnoreCancellation();
  std::string about = "registry " + repository.source.registry;
  const std::string& configured = repository.source.host.scheme;
  std::string scheme = configured.empty() ? "https" : configured;
  bool either = configured.empty() && repository.source.insecure;
  Result<HttpResponse> response = Error::Internal("not asked");
  if (either) {
    response = co_await WithEitherScheme(repository, std::move(call));
  } else {
    response = co_await WithScheme(repository, call, std::move(scheme));
  }
  if (!response) co_return response.error().Prefix(about);
  if (response->status == 200) co_return response;

  int status = response->status < 400 ? 500 : response->status;
  Error error = Error::FromHttpStatus(
      status, "", about + ": " + DescribeStatus(response->status, response->body));
  std::optional<std::chrono::seconds> wait = RetryAfter(*response);
  if (wait) co_return error.WithRetryAfter(*wait);
  co_return error;
}

Async<Document> RegistryClient::Manifest(const Repository& repository, std::string version,
                                         TimePoint deadline) {
  Call call{
      .method = "GET", .path = "manifests/" + version, .accept = Accepted(), .deadline = deadline};
  Result<HttpResponse> response = co_await Get(repository, std::move(call));
  if (!response) co_return response.error();
  Document document;
  document.body = std::move(response->body);
  document.body_lease = std::move(response->body_lease);

  // By digest: proof. By tag: at least the registry must agree with itself. All of the body counts,
  // as all of it is read.
  std::string announced(response->Header("Docker-Content-Digest"));
  std::string wanted = IsDigest(version)     ? version
                       : IsDigest(announced) ? announced
                                             : Sha256Digest(document.body);
  Result<void> verified = VerifyDigest(wanted, document.body);
  if (!verified)
    co_return verified.error().Prefix("registry " + repository.source.registry + ": manifest " +
                                      version);
  document.digest = std::move(wanted);
  co_return document;
}

Async<std::optional<std::string>> RegistryClient::ManifestDigest(const Repository& repository,
                                                                 std::string version,
                                                                 TimePoint deadline) {
  Call call{
      .method = "HEAD", .path = "manifests/" + version, .accept = Accepted(), .deadline = deadline};
  Result<HttpResponse> response = co_await Get(repository, std::move(call));
  if (!response) co_return response.error();
  std::optional<std::string> digest;
  std::string announced(response->Header("Docker-Content-Digest"));
  if (IsDigest(announced)) digest = std::move(announced);
  co_return digest;
}

Async<Document> RegistryClient::Blob(const Repository& repository, std::string digest,
                                     TimePoint deadline) {
  Call call{.method = "GET", .path = "blobs/" + digest, .accept = "", .deadline = deadline};
  Result<HttpResponse> response = co_await Get(repository, std::move(call));
  if (!response) co_return response.error();
  Result<void> verified = VerifyDigest(digest, response->body);
  if (!verified)
    co_return verified.error().Prefix("registry " + repository.source.registry + ": blob");
  Document document;
  document.body = std::move(response->body);
  document.body_lease = std::move(response->body_lease);
  document.digest = std::move(digest);
  co_return document;
}

}  // namespace inspection
