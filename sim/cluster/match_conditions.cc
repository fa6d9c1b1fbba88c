// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/match_conditions.h"

#include <glog/logging.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "kube/types/kinds.h"

namespace sim {
namespace {

using kube::AdmissionAttributes;
using kube::Json;

constexpr char kArch[] = "kubernetes.io/arch";
constexpr char kOperand[] = "multiarch.openshift.io/operand";
constexpr char kPlaced[] = "multiarch.openshift.io/placed-at-creation";
constexpr char kPlacedFor[] = "multiarch.openshift.io/placed-for";
constexpr char kClusterGate[] = "multiarch.openshift.io/scheduling-gate";
constexpr char kLocalGate[] = "multiarch.openshift.io/local-scheduling-gate";
constexpr char kOptedOut[] = "multiarch.openshift.io/exclude-pod-placement";
// Nothing is found in a longer list (operator/objects/pod_conditions.h).
constexpr size_t kMaxWalked = 32;

// What a condition sees.
struct Seen {
  const AdmissionAttributes& asked;
  const Json& object;
  // The expression, and the strings in it.
  const std::string& expression;
  std::vector<std::string> quoted;

  const std::string& user() const { return asked.caller.user; }
  bool IsPod() const { return asked.collection == kube::kPods.Path(); }
  bool IsOneOfQuoted(const std::string& text) const {
    return std::find(quoted.begin(), quoted.end(), text) != quoted.end();
  }
};

bool HasKey(const Json& object, const char* path, const char* key) {
  const Json* map = kube::Find(object, path);
  return map != nullptr && map->is_object() && map->contains(key);
}

// An empty list for a missing and for a too long one.
const Json& Walked(const Json& object, const char* path) {
  static const Json kNone = Json::array();
  const Json* list = kube::Find(object, path);
  return list != nullptr && list->is_array() && list->size() <= kMaxWalked ? *list : kNone;
}

bool HasController(const Json& object, const std::function<bool(const Json&)>& which) {
  for (const Json& owner : Walked(object, "metadata.ownerReferences")) {
    if (owner.value("controller", false) && which(owner)) return true;
  }
  return false;
}

bool IsByDaemonSetController(const Seen& seen) {
  if (seen.user() != "system:serviceaccount:kube-system:daemon-set-controller" &&
      seen.user() != "system:kube-controller-manager")
    return false;
  return HasController(seen.object, [](const Json& owner) {
    return owner.value("kind", "") == "DaemonSet" &&
           owner.value("apiVersion", "").starts_with("apps/");
  });
}

bool IsBound(const Seen& seen) { return !kube::StringAt(seen.object, "spec.nodeName").empty(); }

bool IsForControlPlane(const Seen& seen) {
  return HasKey(seen.object, "spec.nodeSelector", "node-role.kubernetes.io/control-plane") ||
         HasKey(seen.object, "spec.nodeSelector", "node-role.kubernetes.io/master");
}

bool IsInExcludedNamespace(const Seen& seen) {
  for (const std::string& prefix : seen.quoted) {
    if (seen.asked.key.ns.starts_with(prefix)) return true;
  }
  return false;
}

bool IsOn(const Json& term) {
  for (const Json& expression : Walked(term, "matchExpressions")) {
    if (expression.value("key", "") == kArch) return true;
  }
  return false;
}

bool AddsContainer(const Seen& seen) {
  auto count = [](const Json& pod) {
    const Json* containers = kube::Find(pod, "spec.ephemeralContainers");
    return containers == nullptr ? 0 : containers->size();
  };
  return count(seen.object) > (seen.asked.old_object ? count(*seen.asked.old_object) : 0);
}

bool IsMirrorPod(const Seen& seen) {
  return seen.user().starts_with("system:node:") &&
         HasKey(seen.object, "metadata.annotations", "kubernetes.io/config.mirror");
}

bool IsWorkloadOfOperand(const Seen& seen) {
  bool counts = seen.IsPod() || seen.asked.collection.ends_with("/daemonsets");
  return !counts && HasKey(seen.object, "metadata.labels", kOperand);
}

bool IsReplicaSetWithController(const Seen& seen) {
  return seen.asked.collection.ends_with("/replicasets") &&
         HasController(seen.object, [](const Json&) { return true; });
}

// The expression also allows pods that were placed at their creation.
bool WasPlaced(const Seen& seen) {
  return seen.IsOneOfQuoted(kPlaced) && HasKey(seen.object, "metadata.labels", kPlaced);
}

// By a policy, for the images that the pod still has.
bool IsPlaced(const Seen& seen) {
  const Json* annotations = kube::Find(seen.object, "metadata.annotations");
  const Json* volumes = kube::Find(seen.object, "spec.volumes");
  if (volumes != nullptr && std::any_of(volumes->begin(), volumes->end(),
                                        [](const Json& one) { return one.contains("image"); }))
    return false;
  return HasKey(seen.object, "metadata.labels", kPlaced) && RequiresArchitecture(seen.object) &&
         annotations != nullptr && annotations->value(kPlacedFor, "-") == ImagesOf(seen.object);
}

// The gate and its labels are there already.
bool IsGated(const Seen& seen) {
  const Json* labels = kube::Find(seen.object, "metadata.labels");
  return labels != nullptr && HasGate(seen.object, kClusterGate) &&
         labels->value(kClusterGate, "") == "gated" &&
         labels->value("multiarch.openshift.io/node-affinity", "") == "not-set" &&
         labels->value("multiarch.openshift.io/preferred-node-affinity", "") == "not-set" &&
         !labels->contains(kLocalGate);
}

using Condition = bool (*)(const Seen&);

const std::map<std::string, Condition>& Known() {
  static const auto& known = *new std::map<std::string, Condition>{
      {"not-bound-to-a-node", [](const Seen& seen) { return !IsBound(seen); }},
      {"bound-to-a-node", IsBound},
      {"not-of-a-daemonset",
       [](const Seen& seen) { return !seen.IsPod() || !IsByDaemonSetController(seen); }},
      {"not-for-the-control-plane", [](const Seen& seen) { return !IsForControlPlane(seen); }},
      {"not-an-operand",
       [](const Seen& seen) { return !HasKey(seen.object, "metadata.labels", kOperand); }},
      {"not-opted-out",
       [](const Seen& seen) { return !HasKey(seen.object, "metadata.labels", kOptedOut); }},
      {"not-of-an-excluded-scheduler",
       [](const Seen& seen) {
         return !seen.IsOneOfQuoted(kube::StringAt(seen.object, "spec.schedulerName"));
       }},
      {"not-in-a-reserved-namespace",
       [](const Seen& seen) { return !seen.asked.key.ns.starts_with("kube-"); }},
      {"architecture-not-required",
       [](const Seen& seen) { return !RequiresArchitecture(seen.object) || WasPlaced(seen); }},
      {"not-placed", [](const Seen& seen) { return !IsPlaced(seen); }},
      {"not-gated", [](const Seen& seen) { return !IsGated(seen); }},
      {"architecture-required", [](const Seen& seen) { return RequiresArchitecture(seen.object); }},
      {"in-an-excluded-namespace", IsInExcludedNamespace},
      {"not-in-an-excluded-namespace",
       [](const Seen& seen) { return !IsInExcludedNamespace(seen); }},
      {"by-the-operator", [](const Seen& seen) { return seen.IsOneOfQuoted(seen.user()); }},
      {"not-by-the-operator", [](const Seen& seen) { return !seen.IsOneOfQuoted(seen.user()); }},
      {"rule", [](const Seen& seen) { return RuleMatches(seen.expression, seen.object); }},
      {"adds-a-container", AddsContainer},
      {"not-being-deleted",
       [](const Seen& seen) {
         return kube::Find(seen.object, "metadata.deletionTimestamp") == nullptr;
       }},
      {"not-the-workload-of-an-operand",
       [](const Seen& seen) { return !IsWorkloadOfOperand(seen); }},
      {"not-a-mirror-pod", [](const Seen& seen) { return !seen.IsPod() || !IsMirrorPod(seen); }},
      {"not-a-replicaset-with-a-controller",
       [](const Seen& seen) { return !IsReplicaSetWithController(seen); }},
  };
  return known;
}

}  // namespace

bool Holds(const Json& condition, const AdmissionAttributes& asked, const Json& object) {
  const std::string name = condition.at("name");
  const std::string expression = condition.at("expression");
  auto found = Known().find(name);
  CHECK(found != Known().end()) << "sim/ does not know the matchCondition " << name;
  return found->second({asked, object, expression, QuotedIn(expression)});
}

std::vector<std::string> QuotedIn(const std::string& cel) {
  std::vector<std::string> quoted;
  for (size_t from = 0;;) {
    size_t begin = cel.find('\'', from);
    size_t end = begin == std::string::npos ? begin : cel.find('\'', begin + 1);
    if (end == std::string::npos) return quoted;
    quoted.push_back(cel.substr(begin + 1, end - begin - 1));
    from = end + 1;
  }
}

bool HasGate(const Json& pod, std::string_view name) {
  const Json* gates = kube::Find(pod, "spec.schedulingGates");
  return gates != nullptr && std::any_of(gates->begin(), gates->end(), [&](const Json& gate) {
           return gate["name"] == std::string(name);
         });
}

std::string ImagesOf(const Json& pod) {
  std::string images;
  bool first = true;
  for (const char* list : {"spec.containers", "spec.initContainers"}) {
    const Json* containers = kube::Find(pod, list);
    if (containers == nullptr) continue;
    for (const Json& container : *containers) {
      images += (std::exchange(first, false) ? "" : ",") + container.value("image", "");
    }
  }
  return images;
}

bool RuleMatches(const std::string& restricted, const Json& pod) {
  const size_t begin = restricted.find("(\n");
  const size_t end = restricted.rfind("\n)");
  CHECK(begin != std::string::npos && end != std::string::npos && begin + 2 <= end)
      << "not of operator/rules/restricted.h: " << restricted;
  const Json* annotations = kube::Find(pod, "metadata.annotations");
  if (annotations == nullptr) return false;
  return annotations->value("kind", "") == restricted.substr(begin + 2, end - begin - 2);
}

bool RequiresArchitecture(const Json& pod) {
  if (HasKey(pod, "spec.nodeSelector", kArch)) return true;
  const Json& terms = Walked(pod,
                             "spec.affinity.nodeAffinity."
                             "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
  return !terms.empty() && std::all_of(terms.begin(), terms.end(), IsOn);
}

bool PrefersArchitecture(const Json& pod) {
  for (const Json& preferred :
       Walked(pod, "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution")) {
    if (preferred.contains("preference") && IsOn(preferred["preference"])) return true;
  }
  return false;
}

}  // namespace sim
