// SPDX-License-Identifier: Apache-2.0
// CloudHttp: calls to the token servers of clouds. One attempt, bounded in time and size; a
// redirect is an error, as the requests have credentials. Errors name the server and its status:
// its answer may quote what was sent. Thread: one.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "inspection/registry/transport.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/http/pool.h"
#include "kube/http/url.h"
#include "kube/types/unstructured.h"

namespace inspection {

class CloudHttp {
 public:
  static constexpr size_t kMaxAnswer = 64 * 1024;

  CloudHttp(kube::Executor executor, kube::Clock& clock, TransportOptions options)
      : clock_(clock), transport_(std::move(executor), clock, std::move(options)) {}

  // An answer with status 200, within kCallTimeout and by `deadline`. Errors: as HttpPool::Call();
  // kUnauthenticated, kPermissionDenied, kThrottled, kUnavailable and kInvalid for other statuses.
  kube::Async<kube::HttpResponse> Call(kube::Url url, kube::HttpRequest request,
                                       kube::TimePoint deadline);
  // POST of a form to `url`.
  kube::Async<kube::HttpResponse> PostForm(kube::Url url,
                                           std::vector<std::pair<std::string, std::string>> fields,
                                           kube::TimePoint deadline);

 private:
  kube::Clock& clock_;
  Transport transport_;
};

// A JSON object without its values in the error. `what` names the answer.
kube::Result<kube::Json> ParseCloudAnswer(std::string_view what, std::string_view body);
// The largest token or password of a cloud.
inline constexpr size_t kMaxSecret = 16 * 1024;
// Whether `text` can be a token or password: it fits into a header.
bool IsSecret(std::string_view text);
// The secret at `field`; kInvalid without.
kube::Result<std::string> SecretAt(const kube::Json& answer, std::string_view field);
// The number of seconds at `field`, at most kMaxLoginLifetime; one minute without.
std::chrono::seconds LifetimeAt(const kube::Json& answer, std::string_view field);

// The token in a file that the kubelet renews. `variable` names the file for the administrator.
kube::Result<std::string> ReadIdentityToken(const std::string& path, std::string_view variable);

}  // namespace inspection
