// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/target.h"

#include <algorithm>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "kube/types/object_fields.h"
#include "placement/creators.h"

namespace policy {
namespace {

using kube::Json;

struct TargetKind {
  std::string_view group;
  std::string_view resource;
  std::string_view pod;  // the dotted path of the pod or the pod template
  bool update;
};

// The API server does not let the template of a Job change. Pods are changed before they are
// stored: most of their spec is immutable afterwards.
constexpr TargetKind kKinds[] = {
    {"", "pods", "", false},
    {"", "replicationcontrollers", "spec.template", true},
    {"apps", "deployments", "spec.template", true},
    {"apps", "statefulsets", "spec.template", true},
    {"apps", "daemonsets", "spec.template", true},
    {"apps", "replicasets", "spec.template", true},
    {"batch", "jobs", "spec.template", false},
    {"batch", "cronjobs", "spec.jobTemplate.spec.template", true},
};

// nullptr for a resource without a pod spec.
const TargetKind* FindKind(std::string_view group, std::string_view resource) {
  auto kind = std::find_if(std::begin(kKinds), std::end(kKinds), [&](const TargetKind& one) {
    return one.group == group && one.resource == resource;
  });
  return kind == std::end(kKinds) ? nullptr : kind;
}

std::string Join(std::string_view path, std::string_view member) {
  return path.empty() ? std::string(member) : std::string(path) + "." + std::string(member);
}

bool IsOfDaemonSet(const Json& pod) {
  const Json* owner = kube::ControllerOf(pod);
  return owner != nullptr && kube::StringAt(*owner, "kind") == "DaemonSet" &&
         kube::StringAt(*owner, "apiVersion").starts_with("apps/");
}

// Label keys have dots, which kube::Find() takes for steps.
bool HasKey(const Json& object, std::string_view map, std::string_view key) {
  return kube::ObjectAt(object, map).contains(std::string(key));
}

Target Unchanged(std::string_view reason) { return {.left_unchanged = reason}; }

}  // namespace

std::string Target::SpecPointer() const {
  std::string pointer = "/" + spec_path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  return pointer;
}

std::optional<std::string_view> PodPathOf(std::string_view group, std::string_view resource) {
  const TargetKind* kind = FindKind(group, resource);
  if (kind == nullptr) return std::nullopt;
  return kind->pod;
}

bool IsExcludedNamespace(std::string_view ns, const placement::Labels& labels,
                         std::string_view operator_namespace) {
  if (ns.starts_with("kube-") || ns == operator_namespace) return true;
  auto role = labels.find("role");
  return role != labels.end() && role->second == "kube-system";
}

std::string_view UnchangedWithoutObject(const Request& request,
                                        const placement::Labels& namespace_labels,
                                        const TargetOptions& options) {
  if (!request.subresource.empty()) return "a subresource";
  const TargetKind* kind = FindKind(request.group, request.resource);
  if (kind == nullptr) return "a kind without a pod spec";
  bool update = request.operation == "UPDATE" && kind->update;
  if (request.operation != "CREATE" && !update) return "an operation of no interest";
  if (IsExcludedNamespace(request.ns, namespace_labels, options.operator_namespace))
    return "an excluded namespace";
  return "";
}

Target FindTarget(const Request& request, const placement::Labels& namespace_labels,
                  const TargetOptions& options) {
  std::string_view unchanged = UnchangedWithoutObject(request, namespace_labels, options);
  if (!unchanged.empty()) return Unchanged(unchanged);
  if (request.object == nullptr) return Unchanged("no object");
  const TargetKind* kind = FindKind(request.group, request.resource);
  const Json& object = *request.object;
  Target target{.spec_path = Join(kind->pod, "spec"), .metadata_path = Join(kind->pod, "metadata")};
  target.spec = kube::Find(object, target.spec_path);
  if (target.spec == nullptr || !target.spec->is_object()) return Unchanged("no pod spec");
  if (!kube::StringAt(object, "metadata.deletionTimestamp").empty())
    return Unchanged("being deleted");
  bool operand = HasKey(object, "metadata.labels", api::kOperandLabel) ||
                 HasKey(object, target.metadata_path + ".labels", api::kOperandLabel);
  // The pods of other workloads get the cluster's policies when they are created.
  bool exempts = request.resource != "pods" && request.resource != "daemonsets";
  if (operand && exempts) return Unchanged("a workload of the operator");
  target.only_cluster_policies = operand;
  if (request.resource == "pods") {
    // Aimed at a node by its required node affinity; the template was merged.
    if (placement::MayBeDaemonSetController(request.user) && IsOfDaemonSet(object))
      return Unchanged("a pod of a DaemonSet");
    if (placement::IsNode(request.user) &&
        HasKey(object, "metadata.annotations", "kubernetes.io/config.mirror")) {
      return Unchanged("a mirror pod");
    }
  }
  if (request.resource == "replicasets" && kube::ControllerOf(object) != nullptr)
    return Unchanged("a ReplicaSet with a controller");
  if (request.operation == "UPDATE" && options.only_changed_templates &&
      request.old_object != nullptr) {
    const Json* before = kube::Find(*request.old_object, kind->pod);
    const Json* after = kube::Find(object, kind->pod);
    if (before != nullptr && after != nullptr && *before == *after)
      return Unchanged("an update that does not change the pod template");
  }
  return target;
}

placement::Labels PodLabels(const Json& object, const Target& target) {
  placement::Labels labels;
  const Json* map = kube::Find(object, target.metadata_path + ".labels");
  if (map == nullptr || !map->is_object()) return labels;
  for (const auto& [key, value] : map->items()) {
    if (value.is_string()) labels[key] = value.get_ref<const std::string&>();
  }
  return labels;
}

}  // namespace policy
