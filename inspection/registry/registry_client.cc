// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/registry_client.h"

#include <algorithm>

#include "inspection/base/digest.h"
#include "inspection/base/manifest.h"
#include "inspection/base/reference.h"
#include "inspection/base/timing.h"
#include "kube/base/percent.h"
#include "kube/http/no_connection.h"
#include "kube/types/list_at.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::HttpResponse;
using kube::Result;
using kube::TimePoint;
using kube::Url;

std::string Accepted() {
  std::string all;
  for (std::string_view type : {kOciIndex, kDockerList, kOciManifest, kDockerManifest}) {
    all += (all.empty() ? "" : ", ") + std::string(type);
  }
  return all;
}

// Longer challenges are answered, but not cached: registries, which pods choose, decide how long
// they are.
constexpr size_t kMaxCachedChallenge = 1024;

bool IsCacheable(const Challenge& challenge) {
  size_t bytes = 0;
  for (const auto& [name, value] : challenge.params) bytes += name.size() + value.size();
  return bytes <= kMaxCachedChallenge;
}

bool DeniesAccess(const HttpResponse& response) {
  return response.status == 401 || response.status == 403;
}

bool Succeeded(const Result<HttpResponse>& response) {
  return response && (response->status == 200 || response->status == 206);
}

// The pieces of one range, from however many responses it takes.
class RangeSink final : public kube::BodySink {
 public:
  RangeSink(uint64_t offset, uint64_t length, RegistryClient::ReceivePiece receive)
      : first_(offset), next_(offset), end_(offset + length), receive_(std::move(receive)) {}

  // BodySink
  bool Begin(const HttpResponse& header) override {
    if (header.status != 200 && header.status != 206) return false;
    is_whole_ = header.status == 200;
    at_ = is_whole_ ? 0 : first_;
    const std::string_view sent = header.Header("Content-Range");
    const std::string wanted = "bytes " + std::to_string(first_) + "-";
    is_other_range_ = !is_whole_ && !sent.empty() && !sent.starts_with(wanted);
    return true;
  }
  bool Add(std::string_view piece) override {
    if (is_other_range_) return false;
    // What was received before, in a response that broke, or is before the range.
    const uint64_t skipped = std::min<uint64_t>(next_ - at_, piece.size());
    at_ += piece.size();
    piece.remove_prefix(skipped);
    if (!is_whole_) piece = piece.substr(0, end_ - next_);
    if (piece.empty()) return next_ < end_ || is_whole_;
    next_ += piece.size();
    // True at the end of the range as well: a body that ends there leaves its connection usable.
    return receive_(piece);
  }

  uint64_t received() const { return next_ - first_; }
  bool is_other_range() const { return is_other_range_; }

 private:
  uint64_t first_, next_, end_;
  uint64_t at_ = 0;  // of the next byte of the response
  bool is_whole_ = false, is_other_range_ = false;
  RegistryClient::ReceivePiece receive_;
};

// Other credentials would not help: the registry does not answer, is busy or fails.
bool IsDown(const Result<HttpResponse>& response) {
  return !response || response->status == 429 || response->status >= 500;
}

// Both are answered with the same header.
bool HaveSameAnswer(const Challenge& a, const Challenge& b) {
  return a.scheme == b.scheme && a.Param("realm") == b.Param("realm") &&
         a.Param("service") == b.Param("service") && a.Param("scope") == b.Param("scope");
}

// The key of what is cached about a registry. Observations over an insecure connection, which
// any server could have answered, are for insecure connections only.
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
      breaker_(clock, 3 * options_.max_observed, options_.breaker),
      schemes_(options_.max_observed) {}

RegistryClient::Circuits RegistryClient::CircuitsOf(const Repository& repository,
                                                    const Call& call) {
  const PullSource& source = repository.source;
  std::string host = LocationOf(source, "");
  std::string users;
  for (const Credential& credential : repository.credentials) users += credential.Identity() + " ";
  Circuits circuits{.host = "host " + host,
                    .document = "document " + host + " " + source.repository + " " + call.path,
                    .quota = ""};
  // HEAD does not count at Docker Hub.
  if (call.method == "GET")
    circuits.quota = "quota " + host + " " + source.repository + " " + Sha256Digest(users);
  return circuits;
}

void RegistryClient::Record(const Circuits& circuits, const Outcome& outcome) {
  const Result<HttpResponse>& response = outcome.response;
  if (outcome.answered) breaker_.Succeed(circuits.host, outcome.started);
  if (!response) {
    const Error& error = response.error();
    bool unavailable = error.code() == Code::kUnavailable;
    bool no_connection = unavailable && error.reason() == kube::kNoConnection;
    if (no_connection && !outcome.answered) {
      breaker_.Fail(circuits.host, error);
    } else if (unavailable || error.code() == Code::kDeadlineExceeded) {
      breaker_.Fail(circuits.document, error);
    }
    return;
  }
  Error error =
      Error::FromHttpStatus(response->status, "", DescribeStatus(response->status, response->body));
  std::optional<std::chrono::seconds> wait = RetryAfter(*response);
  if (wait) error = error.WithRetryAfter(*wait);
  if (response->status >= 500) {
    breaker_.Fail(circuits.document, error);
  } else if (response->status == 429) {
    breaker_.Fail(circuits.quota.empty() ? circuits.document : circuits.quota, error);
  } else {
    breaker_.Succeed(circuits.document, outcome.started);
    if (!circuits.quota.empty()) breaker_.Succeed(circuits.quota, outcome.started);
  }
}

Async<HttpResponse> RegistryClient::Send(const Repository& repository, const Call& call,
                                         const Url& url, std::string authorization) {
  FetchRequest request{.url = url,
                       .method = call.method,
                       .authorization = std::move(authorization),
                       .max_body_bytes = kMaxManifestBytes,
                       .insecure = repository.source.insecure,
                       .deadline = call.deadline,
                       .max_attempts = call.max_attempts};
  request.answered = call.answered;
  request.body_sink = call.body_sink;
  request.call_timeout = call.call_timeout;
  if (!call.range.empty()) request.headers.emplace_back("Range", call.range);
  request.origin_headers = repository.source.host.headers;
  if (!call.accept.empty()) request.headers.emplace_back("Accept", call.accept);
  std::optional<Referrer> none;
  Result<HttpResponse> response = co_await fetcher_.Fetch(std::move(request), std::move(none));
  co_return response;
}

Async<RegistryClient::Attempt> RegistryClient::WithCredentials(const Repository& repository,
                                                               const Call& call, const Url& url,
                                                               const CachedChallenge& asked,
                                                               TimePoint token_deadline) {
  Attempt attempt{Error::Unauthenticated("401 Unauthorized"), /*refused=*/true};
  size_t count = repository.credentials.size();
  for (size_t i = 0; i <= count; ++i) {
    const Credential* credential = i < count ? &repository.credentials[i] : nullptr;
    if (credential == nullptr && !Authenticator::AllowsAnonymous(asked.challenge)) break;
    AuthRequest auth{.registry = asked.sender,
                     .repository = repository.source.repository,
                     .credential = credential,
                     .challenge = asked.challenge,
                     .insecure = repository.source.insecure,
                     .deadline = token_deadline};
    Result<HttpResponse> response = Error::Unauthenticated("");
    // A cached token that is refused is replaced once.
    for (bool again = false;; again = true) {
      Result<std::string> header = co_await authenticator_.Header(auth);
      if (!header) {
        response = header.error();
        break;
      }
      response = co_await Send(repository, call, url, std::move(*header));
      if (!response || !DeniesAccess(*response)) {
        if (response) {
          transport_.Trace(credential == nullptr ? "anonymous access"
                                                 : "access with " + credential->source);
        }
        attempt = {std::move(response), /*refused=*/false};
        co_return attempt;
      }
      bool had_token = response->status == 401 && authenticator_.DropToken(auth);
      if (again || !had_token) break;
    }
    // A token server that is down, and cancellation, are the same for every credential.
    bool refused = response || FailedWith(response, Code::kUnauthenticated);
    attempt.refused = !FailedWith(response, Code::kCancelled);
    // The answer to a credential explains more than the answer to an anonymous request.
    if (i == 0 || i < count) attempt.answer = std::move(response);
    if (!refused) break;
  }
  co_return attempt;
}

Async<HttpResponse> RegistryClient::WithScheme(const Repository& repository, const Call& call,
                                               std::string scheme) {
  const HostSettings& settings = repository.source.host;
  std::string host = repository.source.registry == kDockerHub ? std::string(kDockerHubHost)
                                                              : repository.source.registry;
  std::string query;
  if (!settings.mirrored_registry.empty()) {
    const bool is_first = call.path.find('?') == std::string::npos;
    query = (is_first ? "?ns=" : "&ns=") + settings.mirrored_registry;
  }
  Result<Url> url = Url::Parse(scheme + "://" + host + settings.path + "/" +
                               repository.source.repository + "/" + call.path + query);
  if (!url) co_return url.error();

  // With the cached challenge, for half of the time at most: its token server may not exist any
  // more.
  std::string key = RepositoryAt(repository.source, scheme);
  std::optional<CachedChallenge> cached;
  if (const CachedChallenge* found = challenges_.Find(key); found != nullptr) cached = *found;
  Attempt attempt{Error::Unauthenticated("401 Unauthorized"), /*refused=*/true};
  if (cached) {
    TimePoint now = clock_.Now();
    TimePoint token_deadline = now + (call.deadline - now) / 2;
    Result<Attempt> tried =
        co_await WithCredentials(repository, call, *url, *cached, token_deadline);
    attempt = std::move(*tried);
    if (Succeeded(attempt.answer) || (!attempt.refused && IsDown(attempt.answer)))
      co_return std::move(attempt.answer);
    challenges_.Erase(key);
  }

  // Without an Authorization header, which most public images do not need.
  std::string no_header;
  Result<HttpResponse> response = co_await Send(repository, call, *url, no_header);
  if (!response || response->status != 401) co_return response;
  std::optional<Challenge> challenge = Authenticator::SelectChallenge(*response);
  if (!challenge)
    co_return Error::Unauthenticated("401 Unauthorized, without a supported challenge");
  CachedChallenge asked{std::move(*challenge), {*url, response->peer}};
  if (IsCacheable(asked.challenge)) challenges_.Put(key, asked);

  // With each credential, unless the cached challenge was the same: its answer would be, too.
  bool answered = cached && HaveSameAnswer(cached->challenge, asked.challenge) &&
                  cached->sender.address == asked.sender.address;
  if (!answered) {
    Result<Attempt> tried = co_await WithCredentials(repository, call, *url, asked, call.deadline);
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

// The port of an insecure registry may serve TLS or plain HTTP. A server of one that gets the other
// may never answer.
Async<HttpResponse> RegistryClient::WithEitherScheme(const Repository& repository, Call call) {
  const PullSource& source = repository.source;
  std::string key = LocationOf(source, "");
  const std::string* cached = schemes_.Find(key);
  bool known = cached != nullptr;
  std::string first = known ? *cached : "https";
  std::string second = first == "https" ? "http" : "https";

  // Leaves time for the other scheme, and more where the first one is a guess.
  Call first_call = call;
  kube::Duration left = call.deadline - clock_.Now();
  first_call.deadline = call.deadline - (known ? left / 3 : left * 2 / 3);
  if (!known) first_call.max_attempts = 1;
  Result<HttpResponse> response = co_await WithScheme(repository, first_call, first);
  // 400 is the answer of a TLS server to plain HTTP.
  auto has_scheme = [](const Result<HttpResponse>& answer) {
    if (answer) return answer->status != 400;
    return FailedWith(answer, Code::kUnauthenticated) ||
           FailedWith(answer, Code::kPermissionDenied);
  };
  if (has_scheme(response)) {
    schemes_.Put(key, std::move(first));
    co_return response;
  }
  if (FailedWith(response, Code::kCancelled)) co_return response;
  schemes_.Erase(key);
  Result<HttpResponse> other = co_await WithScheme(repository, call, second);
  if (has_scheme(other)) schemes_.Put(key, std::move(second));
  // After two failures, returns the one with the scheme that worked before.
  if (!other && known) co_return response;
  co_return other;
}

Async<HttpResponse> RegistryClient::Get(const Repository& repository, Call call) {
  co_await kube::IgnoreCancellation();
  std::string about = "registry " + repository.source.registry;
  const Circuits circuits = CircuitsOf(repository, call);
  std::vector<std::string> keys = {circuits.host, circuits.document};
  if (!circuits.quota.empty()) keys.push_back(circuits.quota);
  std::optional<Error> down = breaker_.Check(keys);
  if (down) co_return down->Prefix(about);
  TimePoint started = clock_.Now();
  bool answered = false;
  call.answered = &answered;
  const std::string& configured = repository.source.host.scheme;
  std::string scheme = configured.empty() ? "https" : configured;
  bool either = configured.empty() && repository.source.insecure;
  Result<HttpResponse> response = Error::Internal("not called");
  if (either) {
    response = co_await WithEitherScheme(repository, std::move(call));
  } else {
    response = co_await WithScheme(repository, call, std::move(scheme));
  }
  Record(circuits, {.started = started, .answered = answered, .response = response});
  if (!response) co_return response.error().Prefix(about);
  if (Succeeded(response)) co_return response;

  int status = response->status < 400 ? 500 : response->status;
  if (status == 416) status = 400;  // a range beyond the end
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

  // A manifest requested by digest must have it. One requested by tag must have the digest that the
  // registry sent with it. The digest is that of the whole body, as all of it is parsed.
  std::string sent_digest(response->Header("Docker-Content-Digest"));
  std::string wanted = IsDigest(version)       ? version
                       : IsDigest(sent_digest) ? sent_digest
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
  std::string sent_digest(response->Header("Docker-Content-Digest"));
  if (IsDigest(sent_digest)) digest = std::move(sent_digest);
  co_return digest;
}

// By pages: the last tag of one is where the next one begins.
Async<std::vector<std::string>> RegistryClient::Tags(const Repository& repository,
                                                     TimePoint deadline) {
  constexpr size_t kPage = 1000, kMaxPages = 20;
  // Of the grammar of references.
  constexpr size_t kMaxTagLength = 128;
  std::vector<std::string> tags;
  std::string path = "tags/list?n=" + std::to_string(kPage);
  for (size_t page = 0; page < kMaxPages && tags.size() < kMaxTags; ++page) {
    Call call{.method = "GET", .path = path, .accept = "application/json", .deadline = deadline};
    Result<HttpResponse> response = co_await Get(repository, std::move(call));
    if (!response) co_return response.error();
    Result<kube::Json> list = kube::ParseJson(response->body);
    if (!list) co_return list.error().Prefix("registry " + repository.source.registry + ": tags");
    const size_t before = tags.size();
    for (const kube::Json& tag : kube::ListAt(*list, "tags")) {
      if (!tag.is_string() || tags.size() >= kMaxTags) continue;
      const std::string& name = tag.get_ref<const std::string&>();
      if (!name.empty() && name.size() <= kMaxTagLength) tags.push_back(name);
    }
    if (tags.size() == before || response->Header("Link").empty()) break;
    path = "tags/list?n=" + std::to_string(kPage) + "&last=" + kube::PercentEncode(tags.back());
  }
  co_return tags;
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

Async<uint64_t> RegistryClient::BlobRange(const Repository& repository, std::string digest,
                                          uint64_t offset, uint64_t length, ReceivePiece receive,
                                          TimePoint deadline) {
  if (length == 0) co_return 0;
  RangeSink sink(offset, length, std::move(receive));
  Call call{.method = "GET", .path = "blobs/" + digest, .accept = "", .deadline = deadline};
  call.body_sink = &sink;
  call.call_timeout = kBlobRangeTimeout;
  call.range = "bytes=" + std::to_string(offset) + "-" + std::to_string(offset + length - 1);
  Result<HttpResponse> response = co_await Get(repository, std::move(call));
  if (!response) co_return response.error();
  if (sink.is_other_range())
    co_return Error::Invalid("registry " + repository.source.registry +
                             ": another range of the blob than the requested one");
  co_return sink.received();
}

}  // namespace inspection
