// SPDX-License-Identifier: Apache-2.0
#include "kube/controller/rights.h"

#include <glog/logging.h>

#include <utility>

namespace kube {
namespace {

using namespace std::chrono_literals;

// The interval between reviews: a policy that refuses many objects must not double the calls.
constexpr auto kReviewInterval = 10s;

constexpr char kReviews[] = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

std::string NameOf(const Right& right) {
  std::string name = right.verb + " " + right.resource;
  if (!right.ns.empty()) name += " in namespace " + right.ns;
  return name;
}

Json AttributesOf(const Right& right) {
  return {{"namespace", right.ns},
          {"verb", right.verb},
          {"group", right.group},
          {"resource", right.resource},
          {"name", right.name}};
}

}  // namespace

Rights::Rights(Client& client, Clock& clock, std::vector<Right> needed)
    : client_(client), clock_(clock), needed_(std::move(needed)) {}

void Rights::OnForbidden() {
  review_due_ = true;
  forbidden_.NotifyAll();
}

asio::awaitable<void> Rights::Run() {
  co_await IgnoreCancellation();
  while (true) {
    while (!review_due_ && !missing_) {
      Result<> waited = co_await forbidden_.Wait();
      if (!waited) co_return;
    }
    review_due_ = false;
    Result<> reviewed = co_await Review();
    LOG_IF(WARNING, !reviewed) << "review of the permissions failed: " << reviewed.error();
    review_due_ = review_due_ || !reviewed;
    Result<> slept = co_await clock_.Sleep(kReviewInterval);
    if (!slept) co_return;
  }
}

Result<void> Rights::Check() const {
  if (!missing_) return Ok();
  return Error::PermissionDenied("missing permission: " + *missing_);
}

Async<> Rights::Review() {
  std::optional<std::string> missing;
  for (const Right& right : needed_) {
    Json attributes = AttributesOf(right);
    Result<bool> has = co_await Has(std::move(attributes));
    if (!has) co_return has.error();
    if (!*has && !missing) missing = NameOf(right);
  }
  LOG_IF(ERROR, missing && missing != missing_) << "missing permission: " << *missing;
  LOG_IF(INFO, !missing && missing_) << "all permissions are granted again";
  missing_ = std::move(missing);
  co_return Ok();
}

Async<bool> Rights::Has(Json attributes) {
  Json review = {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SelfSubjectAccessReview"}};
  review["spec"]["resourceAttributes"] = std::move(attributes);
  ApiRequest request{.method = Method::kPost,
                     .target = kReviews,
                     .content_type = std::string(kJson),
                     .body = DumpJson(review)};
  Result<ApiResponse> response = co_await client_.Call(std::move(request));
  if (!response) co_return response.error();
  Result<Json> answer = ParseJson(response->body);
  if (!answer) co_return answer.error();
  const Json* allowed = Find(*answer, "status.allowed");
  co_return allowed != nullptr && allowed->is_boolean() && allowed->get<bool>();
}

}  // namespace kube
