// SPDX-License-Identifier: Apache-2.0
// CelClient: a fake API server that compiles expressions of rules as much as tests need: it refuses
// "broken", and, when restricted, "request". Dry runs store nothing. It answers
// SubjectAccessReviews.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/client/client.h"
#include "kube/client/typed.h"
#include "kube/testing/fake_api_server.h"
#include "kube/types/unstructured.h"

namespace operator_ {

class CelClient final : public kube::Client {
 public:
  explicit CelClient(kube::FakeApiServer& api) : api_(api) {}

  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    if (request.target.ends_with("/subjectaccessreviews")) {
      ++access_reviews;
      asked = kube::MustParseJson(request.body)["spec"];
      kube::Json answer = {{"status", {{"allowed", may_use_rules}}}};
      co_return kube::ApiResponse{
          .status = 201, .content_type = std::string(kube::kJson), .body = kube::DumpJson(answer)};
    }
    if (request.target.find("dryRun=All") == std::string::npos)
      co_return co_await api_.Call(std::move(request));
    ++dry_runs;
    if (fail) co_return kube::Error::DeadlineExceeded("no answer in time");
    kube::Json object = kube::MustParseJson(request.body);
    std::vector<kube::Cause> causes;
    std::string message;
    const kube::Json& conditions = object["webhooks"][0]["matchConditions"];
    for (size_t i = 0; i < conditions.size(); ++i) {
      std::string expression = conditions[i]["expression"];
      bool restricted = expression.starts_with("[0]");
      size_t body = restricted ? expression.find('\n') : 0;
      bool refused = expression.find("broken") != std::string::npos ||
                     (restricted && expression.find("request", body) != std::string::npos);
      if (!refused) continue;
      std::string field = "webhooks[0].matchConditions[" + std::to_string(i) + "].expression";
      std::string words = "Invalid value: " + kube::DumpJson(kube::Json(expression)) +
                          ": compilation failed: " + (restricted ? "restricted" : "alone");
      causes.push_back({"FieldValueInvalid", words, field});
      message += (message.empty() ? "" : ", ") + field + ": " + words;
    }
    if (!causes.empty()) {
      if (causes.size() > 1) message = "[" + message + "]";
      co_return kube::Error::FromHttpStatus(
          422, "Invalid",
          "MutatingWebhookConfiguration.admissionregistration.k8s.io \"x\" is invalid: " + message)
          .WithCauses(std::move(causes));
    }
    co_return kube::ApiResponse{
        .status = 201, .content_type = std::string(kube::kJson), .body = kube::DumpJson(object)};
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    return api_.Watch(std::move(request));
  }

  bool may_use_rules = true;
  kube::Json asked;  // the spec of the last SubjectAccessReview
  int access_reviews = 0;
  bool fail = false;
  int dry_runs = 0;

 private:
  kube::FakeApiServer& api_;
};

}  // namespace operator_
