// SPDX-License-Identifier: Apache-2.0
// FakeRulePolicy: a client of a FakeApiServer that also answers questions about rules, as the
// namespace's ValidatingAdmissionPolicy does (api/rule_question.h). A rule "matches" where its
// expression is the pod's annotation "kind".
//
//   FakeRulePolicy client(api);
//   client.Enforce(config);  // from now on; a config that was not enforced has no answer
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/pod_placement_config.h"
#include "api/rule_question.h"
#include "kube/client/client.h"
#include "kube/codec/codec.h"
#include "kube/testing/fake_api_server.h"
#include "kube/types/core.pb.h"

namespace rules {

class FakeRulePolicy final : public kube::Client {
 public:
  explicit FakeRulePolicy(kube::FakeApiServer& api) : api_(api) {}

  void Enforce(const api::PodPlacementConfig& config) {
    std::vector<std::string>& expressions = enforced_[api::QuestionOf(config)];
    expressions.clear();
    for (const api::CelRule& rule : config.Rules()) expressions.push_back(rule.expression);
  }
  int questions() const { return questions_; }
  // What else the API server warns about.
  std::vector<std::string> other_warnings;

  // Client
  kube::Async<kube::ApiResponse> Call(kube::ApiRequest request) override {
    constexpr std::string_view kManager = "dryRun=All&fieldManager=";
    size_t manager = request.target.find(kManager);
    if (manager == std::string::npos) {
      kube::Result<kube::ApiResponse> response = co_await api_.Call(std::move(request));
      co_return response;
    }
    ++questions_;
    std::string question = request.target.substr(manager + kManager.size());
    kube::Result<kube::core::Pod> pod = kube::Decode<kube::core::Pod>(request.body);
    if (!pod) co_return pod.error();
    // The real server checks and refuses as in a write. So does the fake, with a read.
    std::string version = pod->metadata().resource_version();
    request.method = kube::Method::kGet;
    request.body.clear();
    kube::Result<kube::ApiResponse> stored = co_await api_.Call(std::move(request));
    if (!stored) co_return stored.error();
    kube::Result<kube::core::Pod> newest = kube::Decode<kube::core::Pod>(stored->body);
    if (!newest) co_return newest.error();
    if (newest->metadata().resource_version() != version)
      co_return kube::Error::Conflict("the object has been modified");
    stored->body.clear();
    stored->warnings = other_warnings;
    AddAnswer(question, *newest, stored->warnings);
    co_return stored;
  }
  kube::Async<std::unique_ptr<kube::WatchStream>> Watch(kube::ApiRequest request) override {
    return api_.Watch(std::move(request));
  }

 private:
  void AddAnswer(const std::string& question, const kube::core::Pod& pod,
                 std::vector<std::string>& warnings) const {
    auto enforced = enforced_.find(question);
    if (enforced == enforced_.end()) return;
    auto kind = pod.metadata().annotations().find("kind");
    const std::string start = "Validation failed for ValidatingAdmissionPolicy 'p': ";
    for (size_t i = 0; i < enforced->second.size(); ++i) {
      if (kind != pod.metadata().annotations().end() && kind->second == enforced->second[i])
        warnings.push_back(start + api::RuleMatches(i));
    }
    warnings.push_back(start + std::string(api::kRulesEvaluated));
  }

  kube::FakeApiServer& api_;
  std::map<std::string, std::vector<std::string>> enforced_;  // expressions, by question
  int questions_ = 0;
};

}  // namespace rules
