// SPDX-License-Identifier: Apache-2.0
#include "cluster-controller/pod_tokens.h"

#include <chrono>
#include <utility>

#include "kube/client/typed.h"
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

}  // namespace

Async<inspection::ServiceAccount> PodTokens::Account(inspection::PodIdentity pod,
                                                     std::vector<std::string> annotation_keys) {
  kube::ObjectKey key{pod.ns, pod.account};
  Result<kube::Unstructured> object =
      co_await kube::GetObject(client_, kube::kServiceAccounts, std::move(key));
  if (!object) co_return object.error();
  inspection::ServiceAccount account{.uid = kube::StringAt(object->body(), "metadata.uid"),
                                     .annotations = {}};
  const Json& annotations = kube::ObjectAt(object->body(), "metadata.annotations");
  for (const std::string& name : annotation_keys) {
    // Their keys have dots, which are no path here.
    auto found = annotations.find(name);
    if (found != annotations.end() && found->is_string())
      account.annotations[name] = found->get<std::string>();
  }
  co_return account;
}

Async<std::string> PodTokens::Token(inspection::PodIdentity pod, std::string audience) {
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
                           .body = kube::DumpJson(body),
                           .timeout = 10s};
  Result<kube::ApiResponse> response = co_await client_.Call(std::move(request));
  if (!response) co_return response.error();
  Result<Json> answer = kube::ParseJson(response->body);
  std::string token = answer ? kube::StringAt(*answer, "status.token") : "";
  // The parser's message may quote the token.
  if (token.empty() || token.size() > kMaxToken)
    co_return Error::Invalid("the TokenRequest has no usable token");
  co_return token;
}

}  // namespace cluster_controller
