// SPDX-License-Identifier: Apache-2.0
#include "shard/rights.h"

#include <glog/logging.h>

#include "api/names.h"
#include "kube/types/unstructured.h"

namespace shard {
namespace {

using kube::Async;
using kube::Json;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

// The interval between reviews: a policy that refuses many pods must not double the calls.
constexpr auto kReviewInterval = 10s;

constexpr char kReviews[] = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

}  // namespace

Rights::Rights(kube::Client& client, kube::Clock& clock, std::string ns)
    : client_(client), clock_(clock), ns_(std::move(ns)) {}

void Rights::OnForbidden() {
  review_due_ = true;
  forbidden_.NotifyAll();
}

boost::asio::awaitable<void> Rights::Run() {
  co_await kube::IgnoreCancellation();
  while (true) {
    while (!review_due_ && !missing_) {
      Result<> waited = co_await forbidden_.Wait();
      if (!waited) co_return;
    }
    review_due_ = false;
    Result<> reviewed = co_await Review();
    LOG_IF(WARNING, !reviewed) << "review of the shard's permissions failed: " << reviewed.error();
    review_due_ = review_due_ || !reviewed;
    Result<> slept = co_await clock_.Sleep(kReviewInterval);
    if (!slept) co_return;
  }
}

Result<void> Rights::Check() const {
  if (!missing_) return Ok();
  return kube::Error::PermissionDenied("missing permission in namespace " + ns_ + ": " + *missing_);
}

Async<> Rights::Review() {
  struct Right {
    const char* verb;
    std::string_view group;
    const char* resource;
    std::string_view name;
  };
  static constexpr Right kNeeded[] = {
      {"update", "", "pods", ""},
      {"watch", "", "pods", ""},
      {"watch", api::kGroup, "podplacementconfigs", ""},
      {"get", "coordination.k8s.io", "leases", api::kAnnouncementsName}};
  std::optional<std::string> missing;
  for (const Right& right : kNeeded) {
    Json attributes = {{"namespace", ns_},
                       {"verb", right.verb},
                       {"group", std::string(right.group)},
                       {"resource", right.resource},
                       {"name", std::string(right.name)}};
    Result<bool> has = co_await Has(std::move(attributes));
    if (!has) co_return has.error();
    if (!*has && !missing) missing = std::string(right.verb) + " " + right.resource;
  }
  LOG_IF(ERROR, missing && missing != missing_)
      << "missing permission in namespace " << ns_ << ": " << *missing;
  LOG_IF(INFO, !missing && missing_) << "all permissions are granted again";
  missing_ = std::move(missing);
  co_return Ok();
}

Async<bool> Rights::Has(Json attributes) {
  Json review = {{"apiVersion", "authorization.k8s.io/v1"}, {"kind", "SelfSubjectAccessReview"}};
  review["spec"]["resourceAttributes"] = std::move(attributes);
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kReviews,
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(review)};
  Result<kube::ApiResponse> response = co_await client_.Call(std::move(request));
  if (!response) co_return response.error();
  Result<Json> answer = kube::ParseJson(response->body);
  if (!answer) co_return answer.error();
  const Json* allowed = kube::Find(*answer, "status.allowed");
  co_return allowed != nullptr && allowed->is_boolean() && allowed->get<bool>();
}

}  // namespace shard
