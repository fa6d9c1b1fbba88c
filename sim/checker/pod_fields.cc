// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/pod_fields.h"

#include <algorithm>

#include "api/names.h"
#include "kube/types/list_at.h"

namespace sim::checker {
namespace {

std::string StringIn(const Json& map, std::string_view key) {
  auto found = map.find(std::string(key));
  return found != map.end() && found->is_string() ? found->get<std::string>() : "";
}

const Json& NodeAffinityList(const Json& pod, const std::string& field) {
  return kube::ListAt(pod, "spec.affinity.nodeAffinity." + field);
}

}  // namespace

bool HasGate(const Json& pod, std::string_view gate) {
  const Json& gates = kube::ListAt(pod, "spec.schedulingGates");
  return std::any_of(gates.begin(), gates.end(),
                     [&](const Json& present) { return kube::StringAt(present, "name") == gate; });
}

bool IsGated(const Json& pod) {
  return HasGate(pod, api::kClusterGate) || HasGate(pod, api::kLocalGate);
}

std::vector<std::string> OtherGates(const Json& pod) {
  std::vector<std::string> others;
  for (const Json& gate : kube::ListAt(pod, "spec.schedulingGates")) {
    std::string name = kube::StringAt(gate, "name");
    if (name != api::kClusterGate && name != api::kLocalGate) others.push_back(std::move(name));
  }
  return others;
}

bool HasLabel(const Json& object, std::string_view key) {
  return LabelsOf(object).contains(std::string(key));
}

std::string LabelOf(const Json& object, std::string_view key) {
  return StringIn(LabelsOf(object), key);
}

std::string AnnotationOf(const Json& object, std::string_view key) {
  return StringIn(AnnotationsOf(object), key);
}

const Json& LabelsOf(const Json& object) { return kube::ObjectAt(object, "metadata.labels"); }

const Json& AnnotationsOf(const Json& object) {
  return kube::ObjectAt(object, "metadata.annotations");
}

const Json& RequiredTermsOf(const Json& pod) {
  return NodeAffinityList(pod, "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
}

const Json& PreferredTermsOf(const Json& pod) {
  return NodeAffinityList(pod, "preferredDuringSchedulingIgnoredDuringExecution");
}

const Json& TolerationsOf(const Json& pod) { return kube::ListAt(pod, "spec.tolerations"); }

const Json* NodeSelectorValue(const Json& pod, std::string_view key) {
  const Json& selector = kube::ObjectAt(pod, "spec.nodeSelector");
  auto found = selector.find(std::string(key));
  return found == selector.end() ? nullptr : &*found;
}

bool HasExpressionOn(const Json& term, std::string_view key) {
  const Json& expressions = kube::ListAt(term, "matchExpressions");
  return std::any_of(expressions.begin(), expressions.end(), [&](const Json& expression) {
    return kube::StringAt(expression, "key") == key;
  });
}

bool IsArchitecture(std::string_view name) {
  constexpr size_t kLongest = 32;
  if (name.empty() || name.size() > kLongest || name == "unknown" || name == "operand")
    return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

bool PodChange::RemovesGate() const {
  return Removes(api::kClusterGate) || Removes(api::kLocalGate);
}

bool IsPodChange(const Commit& commit) {
  return IsOf(commit, "", "pods") && commit.subresource.empty() && commit.before && commit.after &&
         kube::StringAt(*commit.before, "metadata.uid") ==
             kube::StringAt(*commit.after, "metadata.uid");
}

}  // namespace sim::checker
