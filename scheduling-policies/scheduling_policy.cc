// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/scheduling_policy.h"

#include <tuple>

#include "api/json_fields.h"
#include "api/json_reader.h"

namespace policy {

using kube::Json;

kube::Result<SchedulingPolicy> SchedulingPolicy::FromJson(const Json& json, Scope scope) {
  static const Json kEmpty = Json::object();
  if (!json.is_object()) return kube::Error::Invalid("scheduling policy: not a JSON object");
  SchedulingPolicy policy;
  policy.scope = scope;
  if (scope == Scope::kNamespace) policy.ns = kube::StringAt(json, "metadata.namespace");
  policy.name = kube::StringAt(json, "metadata.name");
  policy.generation = kube::IntAt(json, "metadata.generation");
  const Json* spec = kube::Find(json, "spec");
  if (spec == nullptr || spec->is_null()) spec = &kEmpty;

  api::JsonReader reader(*spec, "spec", policy.problems);
  policy.pod_selector = ReadSelector(reader, "podSelector");
  if (scope == Scope::kCluster)
    policy.namespace_selector = ReadSelector(reader, "namespaceSelector");
  if (spec->is_object()) policy.criteria = CriteriaFromJson(*spec, "spec", policy.problems);

  if (const Json* status = kube::Find(json, "status")) {
    api::FieldErrors ignored;  // the operator replaces a status that does not fit
    policy.status = api::ReadFields<PolicyStatus>(*status, "status", ignored);
  }
  return policy;
}

std::string SchedulingPolicy::Describe() const {
  if (of_cluster()) return std::string(kClusterPodSchedulingPolicies.kind) + " " + name;
  return std::string(kPodSchedulingPolicies.kind) + " " + ns + "/" + name;
}

bool Precedes(const SchedulingPolicy& a, const SchedulingPolicy& b) {
  if (a.scope != b.scope) return a.of_cluster();
  return std::tie(a.name, a.ns) < std::tie(b.name, b.ns);
}

Json StatusToJson(const PolicyStatus& status) { return api::WriteFields(status); }

}  // namespace policy
