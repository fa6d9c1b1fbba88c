// SPDX-License-Identifier: Apache-2.0
// Fetcher: one HTTP call as a registry client makes it, with retries and redirects. The
// Authorization header and the body go to the origin of the request only, never along a redirect to
// another one. Thread: one.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "inspection/base/timing.h"
#include "inspection/registry/transport.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/http/pool.h"
#include "kube/http/url.h"

namespace inspection {

struct FetchOptions {
  // Timeout for one attempt.
  std::chrono::milliseconds call_timeout = kCallTimeout;
  // The largest number of attempts, for 429, 5xx and broken connections.
  int attempts = kCallAttempts;
  // The delay between two attempts; doubles. A longer Retry-After of the server replaces it, if the
  // deadline allows.
  std::chrono::milliseconds backoff = kCallBackoff;
  // Followed for one call, at most.
  int redirects = 5;
};

struct FetchRequest {
  kube::Url url;
  std::string method = "GET";
  kube::HttpHeaders headers;
  std::string body;
  // These two go to the origin of `url` only. Empty for none.
  std::string authorization;
  kube::HttpHeaders origin_headers;
  size_t max_body_bytes = 4u << 20;
  // As in HttpRequest.
  kube::BodySink* body_sink = nullptr;
  // Accepts any certificate, and redirects from HTTPS to HTTP.
  bool insecure = false;
  kube::TimePoint deadline;
  // Raises FetchOptions::call_timeout for this request.
  std::chrono::milliseconds call_timeout{0};
  // Lowers FetchOptions::attempts for this request.
  int max_attempts = 100;
  // Set once the origin of `url` has answered. Not owned; may be null.
  bool* answered = nullptr;
};

class Fetcher {
 public:
  Fetcher(Transport& transport, kube::Clock& clock, FetchOptions options)
      : transport_(transport), clock_(clock), options_(options) {}

  // Returns the answer with any status except a followed redirect; 429 and 5xx only after the last
  // attempt. `referrer`: the registry that named the URL; nullopt for the registry's own URL.
  // Errors: as Transport::Call(); kInvalid (too many or bad redirects), kPermissionDenied (a
  // redirect from HTTPS to HTTP, or of a body to another origin).
  kube::Async<kube::HttpResponse> Fetch(FetchRequest request, std::optional<Referrer> referrer);

 private:
  kube::Async<kube::HttpResponse> CallWithRetries(const FetchRequest& request,
                                                  const std::optional<Referrer>& referrer);

  Transport& transport_;
  kube::Clock& clock_;
  FetchOptions options_;
};

// The absolute URL of a Location header in an answer from `base`. kInvalid if it is none.
kube::Result<kube::Url> ResolveLocation(const kube::Url& base, std::string_view location);

// "404 Not Found", with the distribution API's error code where `body` has one: "401 Unauthorized
// (DENIED)".
std::string DescribeStatus(int status, std::string_view body);

// Seconds of a Retry-After header, at most kMaxRetryAfter; nullopt without one (a date counts as
// none).
std::optional<std::chrono::seconds> RetryAfter(const kube::HttpResponse& response);

}  // namespace inspection
