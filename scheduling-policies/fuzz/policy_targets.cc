// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/fuzz/policy_targets.h"

#include <glog/logging.h>

#include <string>
#include <utility>

#include "fuzz/base/patched.h"
#include "kube/types/unstructured.h"
#include "scheduling-policies/merge.h"
#include "scheduling-policies/scheduling_policy.h"
#include "scheduling-policies/target.h"
#include "scheduling-policies/warnings.h"
#include "scheduling-policies/webhook/policy_review.h"

namespace policy {
namespace {

using kube::Json;
using kube::Result;

// A policy, a pod spec and the labels of the pod: merging twice equals merging once, and changes
// only the fields that it may.
void FuzzSchedulingPolicy(const std::string& input) {
  Result<Json> json = kube::ParseJson(input);
  if (!json || !json->is_object()) return;
  std::vector<SchedulingPolicy> policies;
  for (auto [name, scope] :
       {std::pair("cluster", Scope::kCluster), std::pair("namespaced", Scope::kNamespace)}) {
    const Json* one = kube::Find(*json, name);
    if (one == nullptr) continue;
    auto parsed = SchedulingPolicy::FromJson(*one, scope);
    if (!parsed) continue;
    for (const std::string& warning : WarningsFor(*parsed)) CHECK_LE(warning.size(), 256u);
    (void)CrossNamespaceTerms(parsed->criteria);
    if (parsed->problems.empty()) policies.push_back(std::move(*parsed));
  }
  std::vector<const SchedulingPolicy*> pointers;
  for (const SchedulingPolicy& one : policies) pointers.push_back(&one);

  Request request{
      .group = "apps", .resource = "deployments", .operation = "CREATE", .object = &*json};
  Target target = FindTarget(request, {}, {});
  if (!target) return;
  (void)PodLabels(*json, target);
  auto merged = Merge(*target.spec, target.SpecPointer(), pointers);
  if (!merged) return;
  Json once = fuzz::Patched(*json, merged->patch);
  const Json& spec = *kube::Find(once, target.spec_path);
  auto again = Merge(spec, target.SpecPointer(), pointers);
  CHECK(again) << again.error();
  CHECK_EQ(again->patch, "") << once;
  Json before = *target.spec;
  Json after = spec;
  for (const char* field :
       {"affinity", "nodeName", "nodeSelector", "schedulerName", "tolerations"}) {
    before.erase(field);
    after.erase(field);
  }
  CHECK(before == after);
}

// An AdmissionReview as the policy webhook reads it: the reduced object decides as the whole one.
void FuzzPolicyReview(const std::string& input) {
  static auto& reader = *new PolicyReviewReader;
  static auto& whole_reader = *new PolicyReviewReader(/*whole_templates=*/true);
  static const auto& only = *new auto([] {
    Json json = {{"metadata", {{"name", "only"}, {"namespace", "shop"}}}};
    json["spec"] = *kube::ParseJson(R"({"podSelector": {}, "nodeSelector": {"k": "v"},
        "schedulerName": "s", "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}}})");
    return *SchedulingPolicy::FromJson(json, Scope::kNamespace);
  }());
  (void)reader.Read(input);
  // The API server does not send JSON with duplicate keys.
  Result<Json> json = kube::ParseJson(input);
  if (!json) return;
  std::string text = kube::DumpJson(*json);
  json = kube::ParseJson(text);
  CHECK(json) << text;
  Result<PolicyReview> review = reader.Read(text);
  Result<PolicyReview> whole_review = whole_reader.Read(text);
  CHECK_EQ(review.has_value(), whole_review.has_value());
  if (!review) return;
  // Parts of a larger review may be left out.
  if (text.size() > kMaxSchedulingBytes) return;

  Request request = review->ToRequest();
  Target target = FindTarget(request, {}, {});
  const Json* object = kube::Find(*json, "request.object");
  const bool present = object != nullptr && object->is_object();
  request.object = present ? object : nullptr;
  Target whole = FindTarget(request, {}, {});
  CHECK_EQ(target.left_unchanged, whole.left_unchanged);
  TargetOptions changed{.only_changed_templates = true};
  Request whole_request = whole_review->ToRequest();
  Target from_whole = FindTarget(whole_request, {}, changed);
  const Json* old_object = kube::Find(*json, "request.oldObject");
  if (old_object != nullptr && old_object->is_object()) request.old_object = old_object;
  CHECK_EQ(from_whole.left_unchanged, FindTarget(request, {}, changed).left_unchanged);
  if (!target) return;

  CHECK_EQ(PodLabels(review->object, target).size(), PodLabels(*object, whole).size());
  std::vector<const SchedulingPolicy*> policies = {&only};
  auto merged = Merge(*target.spec, target.SpecPointer(), policies);
  auto expected = Merge(*whole.spec, whole.SpecPointer(), policies);
  CHECK_EQ(merged.has_value(), expected.has_value());
  if (!merged) return;
  CHECK_EQ(merged->patch, expected->patch);
  (void)fuzz::Patched(*object, merged->patch);
}

}  // namespace

std::vector<fuzz::FuzzTarget> PolicyTargets() {
  return {{"policy-review", FuzzPolicyReview}, {"scheduling-policy", FuzzSchedulingPolicy}};
}

}  // namespace policy
