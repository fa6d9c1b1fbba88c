// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/fetcher.h"

#include <strings.h>

#include <algorithm>
#include <charconv>

#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::HttpRequest;
using kube::HttpResponse;
using kube::Json;
using kube::Result;
using kube::Url;

constexpr size_t kMaxLocation = 8192;
constexpr size_t kMaxErrorBody = 64u << 10;

bool IsTransient(const Result<HttpResponse>& response) {
  if (!response) return response.error().code() == Code::kUnavailable;
  return response->status == 429 || response->status == 500 || response->status == 502 ||
         response->status == 503 || response->status == 504;
}

bool IsRedirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

bool IsSameOrigin(const Url& a, const Url& b) {
  return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

std::string_view StatusText(int status) {
  switch (status) {
    case 400:
      return "400 Bad Request";
    case 401:
      return "401 Unauthorized";
    case 403:
      return "403 Forbidden";
    case 404:
      return "404 Not Found";
    case 405:
      return "405 Method Not Allowed";
    case 406:
      return "406 Not Acceptable";
    case 429:
      return "429 Too Many Requests";
    case 500:
      return "500 Internal Server Error";
    case 502:
      return "502 Bad Gateway";
    case 503:
      return "503 Service Unavailable";
    case 504:
      return "504 Gateway Timeout";
    default:
      return "";
  }
}

}  // namespace

Result<Url> ResolveLocation(const Url& base, std::string_view location) {
  if (location.empty() || location.size() > kMaxLocation)
    return Error::Invalid("a redirect without a valid Location");
  std::string absolute;
  if (location.find("://") != std::string_view::npos &&
      location.find("://") < location.find_first_of("/?#")) {
    absolute = location;
  } else if (location.starts_with("//")) {
    absolute = base.scheme + ":" + std::string(location);
  } else {
    std::string path = base.target.substr(0, base.target.find('?'));
    std::string folder = location.starts_with('/') ? "" : path.substr(0, path.rfind('/') + 1);
    absolute = base.scheme + "://" + base.Authority() + folder + std::string(location);
  }
  Result<Url> url = Url::Parse(absolute);
  if (!url) return Error::Invalid("a redirect without a valid Location");
  return url;
}

namespace {

// The code of the first error in a list like {"errors":[{"code":"MANIFEST_UNKNOWN"}]}.
struct RegistryError {
  std::string code;
  // docker-registry 2 as a proxy: the code is that of the registry behind it.
  bool from_upstream = false;
};

const Json* FirstError(const Json& list) {
  const Json* errors = kube::Find(list, "errors");
  return errors != nullptr && errors->is_array() && !errors->empty() ? &errors->front() : nullptr;
}

RegistryError ParseError(std::string_view body) {
  if (body.empty() || body.size() > kMaxErrorBody) return {};
  Result<Json> json = kube::ParseJson(body);
  const Json* error = json ? FirstError(*json) : nullptr;
  if (error == nullptr) return {};
  const Json* detail = kube::Find(*error, "detail");
  const Json* upstream = detail == nullptr ? nullptr : FirstError(*detail);
  if (upstream != nullptr && kube::StringAt(*error, "code") == "UNKNOWN")
    return {.code = kube::StringAt(*upstream, "code"), .from_upstream = true};
  return {.code = kube::StringAt(*error, "code")};
}

// docker-registry 2 as a proxy answers 500 for a digest that the registry behind it does not have.
// Nothing failed then, and another attempt would be answered alike.
bool IsUnknownUpstream(const HttpResponse& response) {
  if (response.status != 500) return false;
  RegistryError error = ParseError(response.body);
  return error.from_upstream && (error.code == "MANIFEST_UNKNOWN" || error.code == "BLOB_UNKNOWN" ||
                                 error.code == "NAME_UNKNOWN");
}

}  // namespace

std::string DescribeStatus(int status, std::string_view body) {
  std::string text(StatusText(status));
  if (text.empty()) text = std::to_string(status);
  std::string code = ParseError(body).code;
  bool plain = std::all_of(code.begin(), code.end(),
                           [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; });
  if (!code.empty() && code.size() <= 64 && plain) text += " (" + code + ")";
  return text;
}

std::optional<std::chrono::seconds> RetryAfter(const HttpResponse& response) {
  std::string_view text = response.Header("Retry-After");
  int64_t seconds = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (failure != std::errc() || end != text.data() + text.size() || seconds < 0)
    return std::nullopt;
  return std::chrono::seconds(std::min<int64_t>(seconds, kMaxRetryAfter.count()));
}

Async<HttpResponse> Fetcher::CallWithRetries(const FetchRequest& request,
                                             const std::optional<Referrer>& referrer) {
  std::chrono::milliseconds backoff = options_.backoff;
  for (int attempt = 1;; ++attempt) {
    kube::Duration left = request.deadline - clock_.Now();
    if (left <= kube::Duration::zero())
      co_return Error::DeadlineExceeded("no time left for " + request.url.host);
    HttpRequest http{.method = request.method, .headers = request.headers, .body = request.body};
    http.headers.insert(http.headers.end(), request.origin_headers.begin(),
                        request.origin_headers.end());
    if (!request.authorization.empty())
      http.headers.emplace_back("Authorization", request.authorization);
    http.timeout = std::min(std::max(options_.call_timeout, request.call_timeout),
                            std::chrono::ceil<std::chrono::milliseconds>(left));
    http.max_body_bytes = request.max_body_bytes;
    http.body_sink = request.body_sink;
    Result<HttpResponse> response =
        co_await transport_.Call(request.url, std::move(http), request.insecure, referrer);
    // A large error body is dropped before any wait: it holds a slot of large_bodies, for which the
    // next attempt might wait.
    if (response && response->status != 200 && response->body_lease != nullptr) {
      std::string().swap(response->body);  // an assignment keeps the memory
      response->body_lease.reset();
    }
    if (response && IsUnknownUpstream(*response)) response->status = 404;
    if (!IsTransient(response) || attempt >= std::min(options_.attempts, request.max_attempts))
      co_return response;

    std::chrono::milliseconds wait = backoff;
    backoff *= 2;
    if (response) {
      std::optional<std::chrono::seconds> wanted = RetryAfter(*response);
      if (wanted) wait = std::max<std::chrono::milliseconds>(wait, *wanted);
    }
    // No time for another attempt.
    if (clock_.Now() + wait >= request.deadline) co_return response;
    Result<> slept = co_await clock_.Sleep(wait);
    if (!slept) co_return slept.error();
  }
}

Async<HttpResponse> Fetcher::Fetch(FetchRequest request, std::optional<Referrer> referrer) {
  co_await kube::IgnoreCancellation();
  Url first = request.url;
  for (int hops = 0; hops <= options_.redirects; ++hops) {
    Result<HttpResponse> response = co_await CallWithRetries(request, referrer);
    if (response && request.answered != nullptr) *request.answered = true;
    if (!response || !IsRedirect(response->status)) {
      // Credentials are for the first origin: the challenges of other origins are ignored.
      if (response && !IsSameOrigin(first, request.url)) {
        std::erase_if(response->headers, [](const auto& header) {
          return ::strcasecmp(header.first.c_str(), "WWW-Authenticate") == 0;
        });
      }
      co_return response;
    }
    // The registry names the next URL.
    if (!referrer) referrer = Referrer{first, response->peer};

    Result<Url> next = ResolveLocation(request.url, response->Header("Location"));
    if (!next) co_return next.error();
    if (request.url.scheme == "https" && next->scheme != "https" && !request.insecure) {
      co_return Error::PermissionDenied("a redirect from HTTPS to plain HTTP, to " + next->host);
    }
    if (!IsSameOrigin(request.url, *next)) {
      // A body may have a refresh token.
      if (!request.body.empty()) {
        co_return Error::PermissionDenied("a redirect of a request with a body, to " + next->host);
      }
      request.authorization.clear();
      request.origin_headers.clear();
    }
    request.url = std::move(*next);
  }
  co_return Error::Invalid("more than " + std::to_string(options_.redirects) + " redirects");
}

}  // namespace inspection
