// SPDX-License-Identifier: Apache-2.0
// Fetcher: one HTTP call as a registry's client must make it: tried again when that may help,
// redirects followed. The Authorization header goes to the origin it was made for, never along a
// redirect to another. Thread: one.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "inspection/registry/transport.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/http/pool.h"
#include "kube/http/url.h"

namespace inspection {

struct FetchOptions {
  // Of one try.
  std::chrono::milliseconds call_timeout{15'000};
  // Tries for what may pass: 429, 5xx, broken connections.
  int tries = 3;
  // Between two tries; doubles. The server's Retry-After counts more, if there is time for it.
  std::chrono::milliseconds backoff{200};
  // Followed for one call.
  int redirects = 5;
};

struct FetchRequest {
  kube::Url url;
  std::string method = "GET";
  kube::HttpHeaders headers;
  std::string body;
  // These two go to the origin of `url` alone. Empty for none.
  std::string authorization;
  kube::HttpHeaders origin_headers;
  size_t max_body_bytes = 4u << 20;
  // Any certificate will do, and redirects may leave HTTPS.
  bool insecure = false;
  kube::TimePoint deadline;
  // At most so many tries, where that is less than the options say.
  int max_tries = 100;
};

class Fetcher {
 public:
  Fetcher(Transport& transport, kube::Clock& clock, FetchOptions options)
      : transport_(transport), clock_(clock), options_(options) {}

  // Any status but a followed redirect is an answer; 429 and 5xx only after the last try.
  // `sent_by`: who named this URL, where it is not the registry's own.
  // Errors: as Transport::Call(); kInvalid (endless or bad redirects), kPermissionDenied (a
  // redirect from HTTPS to HTTP).
  kube::Async<kube::HttpResponse> Fetch(FetchRequest request, std::optional<Sender> sent_by);

 private:
  kube::Async<kube::HttpResponse> Try(const FetchRequest& request,
                                      const std::optional<Sender>& sent_by);

  Transport& transport_;
  kube::Clock& clock_;
  FetchOptions options_;
};

// The absolute URL of a Location header in an answer from `base`. kInvalid if it is none.
kube::Result<kube::Url> ResolveLocation(const kube::Url& base, std::string_view location);

// "404 Not Found", with the distribution API's error code from `body` where there is one: "401
// Unauthorized (DENIED)".
std::string DescribeStatus(int status, std::string_view body);

// Seconds of a Retry-After header, at most an hour; nullopt without one (a date counts as none).
std::optional<std::chrono::seconds> RetryAfter(const kube::HttpResponse& response);

}  // namespace inspection
