// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/operand_rules.h"

#include <algorithm>
#include <string>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "sim/checker/pod_fields.h"

namespace sim::checker {
namespace {

// What of https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted a
// container violates; "" for nothing.
std::string NotRestricted(const Json& pod_spec, const Json& container) {
  auto in_both = [&](const std::string& field) {
    const Json* own = kube::Find(container, "securityContext." + field);
    return own != nullptr ? own : kube::Find(pod_spec, "securityContext." + field);
  };
  const Json* non_root = in_both("runAsNonRoot");
  if (non_root == nullptr || *non_root != true) return "runAsNonRoot";
  const Json* seccomp = in_both("seccompProfile.type");
  if (seccomp == nullptr || (*seccomp != "RuntimeDefault" && *seccomp != "Localhost"))
    return "seccompProfile";
  if (kube::BoolAt(container, "securityContext.allowPrivilegeEscalation", true))
    return "allowPrivilegeEscalation";
  const Json& dropped = kube::ListAt(container, "securityContext.capabilities.drop");
  if (std::find(dropped.begin(), dropped.end(), Json("ALL")) == dropped.end())
    return "capabilities";
  return "";
}

}  // namespace

void CheckOperandPod(const Commit& commit, Violations& violations) {
  if (!IsOf(commit, "", "pods") || !commit.after) return;
  if (!HasLabel(*commit.after, api::kOperandLabel)) return;
  for (std::string_view gate : {api::kLocalGate, api::kClusterGate}) {
    if (!HasGate(*commit.after, gate)) continue;
    if (commit.before && HasGate(*commit.before, gate)) continue;  // reported, or its author's
    if (commit.sent && HasGate(*commit.sent, gate)) continue;
    violations.push_back(At(commit, "I8", "an operand has the gate " + std::string(gate)));
  }
}

void CheckOperandTemplate(const Commit& commit, const Writer& writer, Violations& violations) {
  if (!writer.Is(Program::kOperator) || !IsOf(commit, "apps", "deployments") || !commit.after)
    return;
  const Json& pod = kube::ObjectAt(*commit.after, "spec.template");
  if (!HasLabel(pod, api::kOperandLabel))
    violations.push_back(
        At(commit, "I8", "its pods have no label " + std::string(api::kOperandLabel)));
  const Json& spec = kube::ObjectAt(pod, "spec");
  for (const char* list : {"initContainers", "containers"}) {
    for (const Json& container : kube::ListAt(spec, list)) {
      std::string field = NotRestricted(spec, container);
      if (field.empty()) continue;
      violations.push_back(
          At(commit, "I8",
             "its pods are not restricted: " + field + " of " + kube::StringAt(container, "name")));
    }
  }
}

}  // namespace sim::checker
