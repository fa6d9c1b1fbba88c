// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_tokens.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "kube/types/unstructured.h"

namespace cluster_controller {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Result;
using namespace std::chrono_literals;

namespace {

// The API server's tokens have some KiB, with the names of pod and account in them.
constexpr size_t kMaxToken = 64 * 1024;
constexpr auto kTimeout = 10s;
// Without the lists of Secrets, which may have more than a MiB.
constexpr char kOnlyMetadata[] = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

}  // namespace

PodTokens::PodTokens(kube::Executor executor, kube::Client& client, kube::Clock& clock)
    : client_(client),
      clock_(clock),
      reads_(std::make_shared<kube::Slots>(std::move(executor), clock, kMaxReads,
                                           "a read of a service account, of which " +
                                               std::to_string(kMaxReads) + " run at a time")) {}

Async<inspection::ServiceAccount> PodTokens::Account(inspection::PodIdentity pod,
                                                     std::vector<std::string> annotation_keys,
                                                     kube::TimePoint deadline) {
  Result<kube::Slots::Lease> lease =
      co_await reads_->Acquire(std::min(deadline, clock_.Now() + kTimeout));
  if (!lease) co_return lease.error();
  kube::ApiRequest request{.target = kube::kServiceAccounts.Path(pod.ns, pod.account),
                           .accept = kOnlyMetadata};
  Result<kube::ApiResponse> response = co_await Call(std::move(request), deadline);
  if (!response) co_return response.error();
  Result<Json> object = kube::ParseJson(response->body);
  if (!object) co_return Error::Invalid("the service account is no JSON object");
  inspection::ServiceAccount account{.uid = kube::StringAt(*object, "metadata.uid"),
                                     .annotations = {}};
  const Json& annotations = kube::ObjectAt(*object, "metadata.annotations");
  size_t bytes = 0;
  for (const std::string& name : annotation_keys) {
    // Their keys have dots, which are no path here.
    auto found = annotations.find(name);
    if (found == annotations.end() || !found->is_string()) continue;
    std::string value = found->get<std::string>();
    bytes += name.size() + value.size();
    if (bytes > kMaxAnnotationBytes) {
      co_return Error::Invalid("its annotations for the provider are larger than " +
                               std::to_string(kMaxAnnotationBytes / 1024) + " KiB");
    }
    account.annotations[name] = std::move(value);
  }
  co_return account;
}

Async<kube::ApiResponse> PodTokens::Call(kube::ApiRequest request, kube::TimePoint deadline) {
  auto left = std::chrono::floor<std::chrono::milliseconds>(deadline - clock_.Now());
  if (left.count() <= 0) co_return Error::DeadlineExceeded("no time is left for " + request.target);
  request.timeout = std::min<std::chrono::milliseconds>(kTimeout, left);
  Result<kube::ApiResponse> response = co_await client_.Call(std::move(request));
  co_return response;
}

Async<> PodTokens::CheckLimit(inspection::PodIdentity pod, kube::TimePoint deadline) {
  if (limited_until_ && clock_.Now() < *limited_until_) co_return kube::Ok();
  std::string denied(kDeniedAudience);
  Result<std::string> token = co_await Request(std::move(pod), std::move(denied), deadline);
  if (token) {
    co_return Error::PermissionDenied("the ValidatingAdmissionPolicy " + std::string(kPolicy) +
                                      " is not in force: tokens of any audience are admitted, so "
                                      "none is used");
  }
  // The Status differs from others only in its message, as with the reason of a missing right.
  std::string by_policy = "ValidatingAdmissionPolicy '" + std::string(kPolicy) + "'";
  if (token.error().message().find(by_policy) == std::string::npos) co_return token.error();
  limited_until_ = clock_.Now() + kLimitInterval;
  co_return kube::Ok();
}

Async<std::string> PodTokens::Token(inspection::PodIdentity pod, std::string audience,
                                    kube::TimePoint deadline) {
  Result<void> limited = co_await CheckLimit(pod, deadline);
  if (!limited) co_return limited.error();
  Result<std::string> token = co_await Request(std::move(pod), std::move(audience), deadline);
  co_return token;
}

Async<std::string> PodTokens::Request(inspection::PodIdentity pod, std::string audience,
                                      kube::TimePoint deadline) {
  Json bound = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"name", pod.pod}, {"uid", pod.uid}};
  Json spec = {{"audiences", Json::array({std::move(audience)})},
               {"expirationSeconds", inspection::kAccountTokenLifetime.count()},
               {"boundObjectRef", std::move(bound)}};
  Json body = {{"apiVersion", "authentication.k8s.io/v1"},
               {"kind", "TokenRequest"},
               {"spec", std::move(spec)}};
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kube::kServiceAccounts.Path(pod.ns, pod.account, "token"),
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(body)};
  Result<kube::ApiResponse> response = co_await Call(std::move(request), deadline);
  if (!response) co_return response.error();
  Result<Json> answer = kube::ParseJson(response->body);
  std::string token = answer ? kube::StringAt(*answer, "status.token") : "";
  // The parser's message may quote the token.
  if (token.empty() || token.size() > kMaxToken)
    co_return Error::Invalid("the TokenRequest has no usable token");
  co_return token;
}

}  // namespace cluster_controller
