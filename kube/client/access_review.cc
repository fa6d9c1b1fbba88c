// SPDX-License-Identifier: Apache-2.0
#include "kube/client/access_review.h"

#include <string>
#include <utility>

#include "kube/types/kinds.h"

namespace kube {

Json SubjectOf(const Json& user) {
  Json subject = {{"user", StringAt(user, "username")}};
  for (const char* field : {"uid", "groups", "extra"}) {
    const Json* value = Find(user, field);
    if (value != nullptr) subject[field] = *value;
  }
  return subject;
}

Async<Json> PostReview(Client& client, Resource resource, Json spec,
                       std::chrono::milliseconds timeout) {
  Json review = {{"apiVersion", resource.ApiVersion()},
                 {"kind", std::string(resource.kind)},
                 {"spec", std::move(spec)}};
  ApiRequest request{.method = Method::kPost,
                     .target = resource.Path(),
                     .content_type = std::string(kJson),
                     .body = DumpJson(review),
                     .timeout = timeout};
  Result<ApiResponse> response = co_await client.Call(std::move(request));
  if (!response) co_return response.error();
  co_return ParseJson(response->body);
}

Async<bool> MayAccess(Client& client, Json user, Json attributes,
                      std::chrono::milliseconds timeout) {
  Json spec = SubjectOf(user);
  spec["resourceAttributes"] = std::move(attributes);
  Result<Json> answer =
      co_await PostReview(client, kSubjectAccessReviews, std::move(spec), timeout);
  if (!answer) co_return answer.error().Prefix("SubjectAccessReview");
  co_return BoolAt(*answer, "status.allowed");
}

}  // namespace kube
