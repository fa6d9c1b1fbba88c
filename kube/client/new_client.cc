// SPDX-License-Identifier: Apache-2.0
#include "kube/client/new_client.h"

#include <glog/logging.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <utility>

#include "kube/base/one_line.h"
#include "kube/base/random.h"
#include "kube/client/credentials.h"
#include "kube/client/frame_reader.h"
#include "kube/codec/codec.h"
#include "kube/http/pool.h"
#include "kube/http/proxy.h"

namespace kube {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

// The largest Status of a failed watch.
constexpr size_t kMaxStatus = 64 * 1024;
// The delay after a 429 without Retry-After.
constexpr std::chrono::seconds kDefaultRetry = 1s;
constexpr std::chrono::seconds kMaxRetryAfter = 1h;

// "GET /api/v1/pods", without the query.
std::string Describe(const ApiRequest& request) {
  return std::string(MethodName(request.method)) + " " +
         request.target.substr(0, request.target.find('?'));
}

std::optional<std::chrono::seconds> RetryAfter(const HttpResponse& response) {
  std::string_view text = response.Header("Retry-After");
  long seconds = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (text.empty() || ec != std::errc() || end != text.data() + text.size() || seconds < 0)
    return std::nullopt;
  return std::min(std::chrono::seconds(seconds), kMaxRetryAfter);
}

// The text of `299 - "text"` (RFC 7234, 5.5); "" for another format.
std::string WarningText(std::string_view header) {
  size_t begin = header.find('"');
  std::string text;
  if (begin == std::string_view::npos) return text;
  for (size_t i = begin + 1; i < header.size() && header[i] != '"'; ++i) {
    if (header[i] == '\\' && i + 1 < header.size()) ++i;
    text += header[i];
  }
  return text;
}

Error ToError(const HttpResponse& response, std::string_view body) {
  Error error = DecodeStatus(response.status, response.Header("Content-Type"), body);
  std::optional<std::chrono::seconds> wait = RetryAfter(response);
  return wait && !error.retry_after() ? error.WithRetryAfter(*wait) : error;
}

class Frames final : public WatchStream {
 public:
  Frames(std::unique_ptr<HttpStream> stream, FrameReader reader)
      : stream_(std::move(stream)), reader_(reader) {}

  Async<std::optional<std::string>> Next() override {
    while (true) {
      Result<std::optional<std::string>> frame = reader_.Next();
      if (!frame || *frame) co_return frame;
      Result<std::string> piece = co_await stream_->Next();
      if (!piece) co_return piece.error().Prefix("watch");
      if (!piece->empty()) {
        reader_.Append(*piece);
        continue;
      }
      if (!reader_.empty()) co_return Error::Unavailable("watch ended within a frame");
      co_return std::optional<std::string>();
    }
  }

 private:
  std::unique_ptr<HttpStream> stream_;
  FrameReader reader_;
};

// Decides whether and when a failed call is retried.
class RetryPolicy {
 public:
  RetryPolicy(Clock& clock, int max_attempts, const ApiRequest& request)
      : clock_(clock),
        retries_left_(max_attempts - 1),
        deadline_(clock.Now() + request.timeout),
        uses_credentials_(request.authorization.empty()) {}

  TimePoint deadline() const { return deadline_; }
  // At least a millisecond: the transport then reports the timeout with its context.
  milliseconds TimeLeft() const {
    return std::max(std::chrono::duration_cast<milliseconds>(deadline_ - clock_.Now()),
                    milliseconds(1));
  }

  // The delay before a retry after `error`; nullopt if the error is final.
  std::optional<Duration> RetryDelay(const Error& error, int status, Credentials& credentials,
                                     std::minstd_rand& random) {
    if (status == 401 && uses_credentials_ && !rejected_) {
      rejected_ = true;
      return credentials.Reject() ? std::optional<Duration>(Duration(0)) : std::nullopt;
    }
    bool throttled = status == 429 || (status == 503 && error.retry_after());
    if (!throttled || retries_left_-- <= 0) return std::nullopt;
    // Up to a quarter more: clients that were throttled together do not retry together.
    milliseconds wait = error.retry_after().value_or(kDefaultRetry);
    wait += milliseconds(random() % (std::max<milliseconds>(wait, 100ms).count() / 4 + 1));
    if (clock_.Now() + wait >= deadline_) return std::nullopt;
    return wait;
  }

 private:
  Clock& clock_;
  int retries_left_;
  TimePoint deadline_;
  // The client's own, which may have been renewed since.
  bool uses_credentials_;
  bool rejected_ = false;
};

class HttpClient final : public Client {
 public:
  HttpClient(Executor executor, Clock& clock, Origin origin, std::string prefix,
             ClientConfig config, ClientOptions options)
      : executor_(executor),
        clock_(clock),
        origin_(std::move(origin)),
        authority_(Url{origin_.scheme, origin_.host, origin_.port, "/", ""}.Authority()),
        prefix_(std::move(prefix)),
        options_(std::move(options)),
        credentials_(executor, clock, std::move(config)),
        random_(RandomSeed()) {}

  Result<void> Load() {
    Result<void> loaded = credentials_.Load();
    if (!loaded || origin_.scheme != "https") return loaded;
    // Report wrong certificates now, not at the first call.
    Result<std::shared_ptr<TlsContext>> tls = TlsContext::New(credentials_.tls());
    if (!tls) return tls.error();
    return Ok();
  }

  // Client
  Async<ApiResponse> Call(ApiRequest request) override;
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) override;

 private:
  // The pool for the current certificates. Callers keep a reference: a rotation must not end their
  // in-flight calls.
  std::shared_ptr<HttpPool> CurrentPool() {
    if (pool_ == nullptr || pool_version_ != credentials_.tls_version()) {
      Origin origin = origin_;
      origin.tls = credentials_.tls();
      pool_ = HttpPool::New(executor_, clock_, std::move(origin),
                            {.max_connections = options_.max_connections});
      pool_version_ = credentials_.tls_version();
    }
    return pool_;
  }

  HttpRequest ToHttp(const ApiRequest& request, milliseconds timeout) const {
    HttpRequest http{
        .method = std::string(MethodName(request.method)),
        .target = "",
        .body = request.body,
        .timeout = timeout,
        .max_body_bytes = options_.max_body_bytes,
        .idle_timeout = timeout,
        // A repeated apply or merge patch has no further effect.
        .repeatable = request.content_type == kApplyPatch || request.content_type == kMergePatch};
    http.target.reserve(prefix_.size() + request.target.size());
    http.target.append(prefix_).append(request.target);
    http.headers.reserve(4);
    http.headers.emplace_back("User-Agent", options_.user_agent);
    http.headers.emplace_back("Accept", request.accept);
    if (!request.content_type.empty())
      http.headers.emplace_back("Content-Type", request.content_type);
    const std::string& authorization =
        request.authorization.empty() ? credentials_.authorization() : request.authorization;
    if (!authorization.empty()) http.headers.emplace_back("Authorization", authorization);
    return http;
  }

  void Observe(const ApiRequest& request, int status, TimePoint begun) {
    Duration took = clock_.Now() - begun;
    // Never headers and bodies: they contain tokens and Secrets.
    VLOG(2) << "request=" << MethodName(request.method) << " " << OneLine(request.target)
            << " status=" << status
            << " took=" << std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
            << "ms";
    if (options_.observer != nullptr)
      options_.observer->OnCall(MethodName(request.method), authority_, status, took);
  }

  Executor executor_;
  Clock& clock_;
  Origin origin_;
  std::string authority_;
  std::string prefix_;
  ClientOptions options_;
  Credentials credentials_;
  std::shared_ptr<HttpPool> pool_;
  uint64_t pool_version_ = 0;
  std::minstd_rand random_;
};

Async<ApiResponse> HttpClient::Call(ApiRequest request) {
  RetryPolicy retry(clock_, options_.max_attempts, request);
  while (true) {
    if (credentials_.RefreshIsDue()) {
      Result<> refreshed = co_await credentials_.Refresh(retry.deadline());
      if (!refreshed) co_return refreshed.error().Prefix(Describe(request));
    }
    // The process may have been stopped while this waited: nothing is sent after the timeout.
    if (clock_.Now() >= retry.deadline()) co_return Error::DeadlineExceeded(Describe(request));
    HttpRequest http = ToHttp(request, retry.TimeLeft());
    std::shared_ptr<HttpPool> pool = CurrentPool();
    TimePoint begun = clock_.Now();
    Result<HttpResponse> response = co_await pool->Call(std::move(http));
    Observe(request, response ? response->status : 0, begun);
    if (!response) co_return response.error().Prefix(Describe(request));
    if (response->status >= 200 && response->status < 300) {
      std::string content_type(response->Header("Content-Type"));
      std::vector<std::string> warnings;
      for (std::string_view header : response->Headers("Warning"))
        warnings.push_back(WarningText(header));
      co_return ApiResponse{response->status, std::move(content_type), std::move(response->body),
                            std::move(warnings)};
    }

    Error error = ToError(*response, response->body);
    std::optional<Duration> delay =
        retry.RetryDelay(error, response->status, credentials_, random_);
    if (!delay) co_return error;
    Result<> slept = co_await clock_.Sleep(*delay);
    if (!slept) co_return slept.error().Prefix(Describe(request));
  }
}

Async<std::unique_ptr<WatchStream>> HttpClient::Watch(ApiRequest request) {
  RetryPolicy retry(clock_, options_.max_attempts, request);
  while (true) {
    if (credentials_.RefreshIsDue()) {
      Result<> refreshed = co_await credentials_.Refresh(retry.deadline());
      if (!refreshed) co_return refreshed.error().Prefix(Describe(request));
    }
    HttpRequest http = ToHttp(request, retry.TimeLeft());
    std::shared_ptr<HttpPool> pool = CurrentPool();
    TimePoint begun = clock_.Now();
    Result<std::unique_ptr<HttpStream>> opened = co_await pool->Stream(std::move(http));
    int status = opened ? (*opened)->response().status : 0;
    Observe(request, status, begun);
    if (!opened) co_return opened.error().Prefix(Describe(request));
    std::unique_ptr<HttpStream> stream = std::move(*opened);
    if (status >= 200 && status < 300) {
      stream->SetIdleTimeout(options_.watch_idle_timeout);
      bool protobuf = stream->response().Header("Content-Type").starts_with(kProtobuf);
      FrameReader reader(
          protobuf ? FrameReader::Format::kLengthPrefixed : FrameReader::Format::kLines,
          options_.max_frame_bytes);
      std::unique_ptr<WatchStream> frames =
          std::make_unique<Frames>(std::move(stream), std::move(reader));
      co_return std::move(frames);
    }

    // Read the Status.
    std::string body;
    while (body.size() < kMaxStatus && clock_.Now() < retry.deadline()) {
      Result<std::string> piece = co_await stream->Next();
      if (!piece || piece->empty()) break;
      body += *piece;
    }
    Error error = ToError(stream->response(), body);
    std::optional<Duration> delay = retry.RetryDelay(error, status, credentials_, random_);
    if (!delay) co_return error;
    stream.reset();
    Result<> slept = co_await clock_.Sleep(*delay);
    if (!slept) co_return slept.error().Prefix(Describe(request));
  }
}

Result<std::optional<Url>> ProxyOf(const ClientConfig& config, const Url& server) {
  if (config.proxy_url.empty()) return ProxySettings::FromEnvironment().For(server);
  // The kubeconfig's proxy-url overrides NO_PROXY.
  Result<Url> proxy = Url::Parse(config.proxy_url);
  if (!proxy) return proxy.error().Prefix("proxy-url");
  if (proxy->scheme != "http") return Error::Invalid("proxy-url: only http proxies are supported");
  return std::optional<Url>(std::move(*proxy));
}

}  // namespace

Result<std::unique_ptr<Client>> NewClient(Executor executor, Clock& clock, ClientConfig config,
                                          ClientOptions options) {
  if (config.server.find("://") == std::string::npos) config.server = "https://" + config.server;
  Result<Url> server = Url::Parse(config.server);
  if (!server) return server.error().Prefix("server");
  Result<std::optional<Url>> proxy = ProxyOf(config, *server);
  if (!proxy) return proxy.error();
  Origin origin = Origin::Of(*server);
  origin.proxy = std::move(*proxy);
  std::string prefix = server->target.substr(0, server->target.find('?'));
  while (prefix.ends_with('/')) prefix.pop_back();

  auto client = std::make_unique<HttpClient>(executor, clock, std::move(origin), std::move(prefix),
                                             std::move(config), std::move(options));
  Result<void> loaded = client->Load();
  if (!loaded) return loaded.error();
  std::unique_ptr<Client> result = std::move(client);
  return result;
}

}  // namespace kube
