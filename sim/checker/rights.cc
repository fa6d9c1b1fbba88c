// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/rights.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "sim/checker/user_fields.h"

namespace sim::checker {
namespace {

// Where a right holds.
enum class Where {
  kOwn,      // the namespace of the program's ServiceAccount
  kAny,      // every namespace
  kCluster,  // cluster-scoped objects
};

struct Right {
  Program program;
  Where where;
  std::string_view group;
  std::string_view plural;
  // Separated by spaces.
  std::string_view verbs;
  // Separated by spaces; "" for every name. "*" stands for the rest of a name, or its beginning.
  std::string_view names = "";
  std::string_view subresource = "";
};

constexpr std::string_view kAdmission = "admissionregistration.k8s.io";
constexpr std::string_view kAuthorization = "rbac.authorization.k8s.io";
constexpr std::string_view kPolicies = "kupid.gardener.cloud";
constexpr std::string_view kLeases = "coordination.k8s.io";
constexpr std::string_view kShardObjects =
    "pod-placement-shard-controller pod-placement-shard-web-hook";
constexpr std::string_view kClusterObjects =
    "pod-placement-controller pod-placement-web-hook pod-placement-policy-web-hook "
    "pod-placement-ephemeral-containers-web-hook";
constexpr std::string_view kPluginRoles =
    "pod-placement-suspended-jobs pod-placement-daemon-set-report "
    "pod-placement-daemon-set-templates";
constexpr std::string_view kMonitorObjects =
    "exec-format-error-monitor exec-format-error-findings exec-format-error-monitor-reasons";
// An apply that creates is a patch.
constexpr std::string_view kWrite = "create update patch delete";

constexpr Program kOperator = Program::kOperator;

constexpr Right kRights[] = {
    // A shard: the pods, events and its Lease, in its namespace.
    {Program::kShard, Where::kOwn, "", "pods", "update"},
    {Program::kShard, Where::kOwn, "", "events", "create"},
    {Program::kShard, Where::kOwn, kLeases, "leases", "create update", api::kShardControllerName},
    // The cluster controller. Jobs and DaemonSets: see IsBound().
    {Program::kClusterController, Where::kAny, "", "pods", "update"},
    {Program::kClusterController, Where::kAny, "", "events", "create"},
    {Program::kClusterController, Where::kOwn, kLeases, "leases", "create update",
     api::kControllerName},
    {Program::kClusterController, Where::kAny, "batch", "jobs", "update"},
    {Program::kClusterController, Where::kAny, "apps", "daemonsets", "update"},
    {Program::kClusterController, Where::kOwn, api::kGroup, "imagefacts", "create update",
     "image-facts-*"},
    {Program::kClusterController, Where::kOwn, api::kGroup, "enoexecevents", "delete"},
    {Program::kClusterController, Where::kOwn, api::kGroup, "imagefindings", kWrite},
    // The policy webhook: a Lease for each replica.
    {Program::kPolicyWebhook, Where::kOwn, kLeases, "leases", "create patch delete",
     "pod-placement-policy-web-hook*"},
    // The operator: shards in all namespaces, by name.
    {kOperator, Where::kAny, "apps", "deployments", kWrite, kShardObjects},
    {kOperator, Where::kAny, "", "services", kWrite, api::kShardWebhookName},
    {kOperator, Where::kAny, "", "serviceaccounts", kWrite, kShardObjects},
    {kOperator, Where::kAny, kAuthorization, "roles", kWrite, api::kShardControllerName},
    {kOperator, Where::kAny, kAuthorization, "rolebindings", kWrite, api::kShardControllerName},
    {kOperator, Where::kAny, "networking.k8s.io", "networkpolicies", kWrite, kShardObjects},
    {kOperator, Where::kAny, "", "configmaps", kWrite, "pod-placement-settings"},
    {kOperator, Where::kAny, "", "secrets", kWrite, api::kShardWebhookName},
    {kOperator, Where::kAny, "", "pods", "update"},
    {kOperator, Where::kAny, "", "events", "create"},
    {kOperator, Where::kAny, kLeases, "leases", "delete", api::kShardControllerName},
    {kOperator, Where::kAny, kLeases, "leases", "create patch delete", api::kAnnouncementsName},
    // The monitors of exec format errors, in a namespace of their own.
    {kOperator, Where::kCluster, "", "namespaces", kWrite,
     "openshift-multiarch-exec-format-errors"},
    {kOperator, Where::kAny, "apps", "daemonsets", kWrite, kMonitorObjects},
    {kOperator, Where::kAny, "", "serviceaccounts", kWrite, kMonitorObjects},
    {kOperator, Where::kAny, kAuthorization, "rolebindings", kWrite, kMonitorObjects},
    {kOperator, Where::kAny, "networking.k8s.io", "networkpolicies", kWrite, kMonitorObjects},
    {kOperator, Where::kOwn, api::kGroup, "enoexecevents", "delete"},
    // The operands of the cluster, and its own objects.
    {kOperator, Where::kOwn, "apps", "deployments", kWrite, kClusterObjects},
    {kOperator, Where::kOwn, "", "services", kWrite, kClusterObjects},
    {kOperator, Where::kOwn, "", "serviceaccounts", kWrite, kClusterObjects},
    {kOperator, Where::kOwn, "networking.k8s.io", "networkpolicies", kWrite, kClusterObjects},
    {kOperator, Where::kOwn, "policy", "poddisruptionbudgets", kWrite, kClusterObjects},
    {kOperator, Where::kOwn, "", "secrets", kWrite},
    {kOperator, Where::kOwn, "", "configmaps", kWrite, "service-ca"},
    {kOperator, Where::kOwn, "cert-manager.io", "certificates", kWrite},
    {kOperator, Where::kOwn, kAuthorization, "roles", kWrite, "pod-placement-global-pull-secret"},
    {kOperator, Where::kOwn, kAuthorization, "rolebindings", kWrite,
     "pod-placement-global-pull-secret"},
    {kOperator, Where::kOwn, kLeases, "leases", "create update", "multiarch-tuning-operator"},
    {kOperator, Where::kOwn, kLeases, "leases", "delete", "pod-placement-policy-web-hook*"},
    // Cluster-scoped objects.
    {kOperator, Where::kCluster, kAdmission, "mutatingwebhookconfigurations", kWrite,
     "pod-placement-mutating-webhook-configuration pod-placement-shard-* "
     "multiarch-scheduling-policies"},
    {kOperator, Where::kCluster, kAdmission, "mutatingadmissionpolicies", kWrite,
     "pod-placement-*"},
    {kOperator, Where::kCluster, kAdmission, "mutatingadmissionpolicybindings", kWrite,
     "pod-placement-*"},
    {kOperator, Where::kCluster, kAdmission, "validatingadmissionpolicies", kWrite,
     "pod-placement-shard-*"},
    {kOperator, Where::kCluster, kAdmission, "validatingadmissionpolicybindings", kWrite,
     "pod-placement-shard-*"},
    {kOperator, Where::kCluster, kAdmission, "validatingwebhookconfigurations", kWrite,
     "multiarch-tuning-operator-validating-webhook-configuration multiarch-ephemeral-containers"},
    {kOperator, Where::kCluster, "apiextensions.k8s.io", "customresourcedefinitions", "patch",
     "clusterpodplacementconfigs.multiarch.openshift.io"},
    {kOperator, Where::kCluster, kAuthorization, "clusterrolebindings", kWrite, kPluginRoles},
    // Of the configurations, finalizers and status alone: see CheckConfig().
    {kOperator, Where::kCluster, api::kGroup, "clusterpodplacementconfigs", "patch"},
    {kOperator, Where::kCluster, api::kGroup, "clusterpodplacementconfigs", "patch", "", "status"},
    {kOperator, Where::kAny, api::kGroup, "podplacementconfigs", "patch", "", "status"},
    {kOperator, Where::kCluster, kPolicies, "clusterpodschedulingpolicies", "patch", "", "status"},
    {kOperator, Where::kAny, kPolicies, "podschedulingpolicies", "patch", "", "status"},
};

bool IsWordOf(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    std::string_view one = words.substr(0, words.find(' '));
    words.remove_prefix(std::min(words.size(), one.size() + 1));
    if (one == word) return true;
    if (one.ends_with('*') && word.starts_with(one.substr(0, one.size() - 1))) return true;
  }
  return false;
}

bool Holds(const Right& right, const Commit& commit, const Writer& writer) {
  if (right.program != writer.program || right.group != commit.group ||
      right.plural != commit.plural || right.subresource != commit.subresource)
    return false;
  if (!IsWordOf(right.verbs, commit.verb)) return false;
  if (!right.names.empty() && !IsWordOf(right.names, commit.key.name)) return false;
  switch (right.where) {
    case Where::kOwn:
      return commit.key.ns == writer.ns;
    case Where::kAny:
      return !commit.key.ns.empty();
    case Where::kCluster:
      return commit.key.ns.empty();
  }
  return false;
}

}  // namespace

void RightsRule::Check(const Commit& commit, const Writer& writer, Violations& violations) {
  if (IsOf(commit, kAuthorization, "clusterrolebindings") &&
      IsWordOf(kPluginRoles, commit.key.name))
    bindings_[commit.key.name] = commit.after ? Time::max() : commit.at;
  CheckAuthority(commit, violations);
  if (!writer.IsOurs()) return;

  bool may = std::any_of(std::begin(kRights), std::end(kRights),
                         [&](const Right& right) { return Holds(right, commit, writer); });
  if (writer.Is(Program::kClusterController) && commit.plural == "jobs")
    may = may && IsBound("pod-placement-suspended-jobs", commit.at);
  if (writer.Is(Program::kClusterController) && commit.plural == "daemonsets")
    may = may && IsBound("pod-placement-daemon-set-templates", commit.at);
  if (!may) {
    std::string what = commit.verb + (commit.subresource.empty() ? "" : " /" + commit.subresource);
    violations.push_back(At(commit, "I6", writer.Describe() + " must not " + what + " it"));
  }
  CheckConfig(commit, violations);
}

void RightsRule::CheckConfig(const Commit& commit, Violations& violations) {
  bool is_config = commit.plural.ends_with("podplacementconfigs");
  if (commit.group != api::kGroup || !is_config || !commit.before || !commit.after) return;
  Json before = *commit.before, after = *commit.after;
  for (Json* object : {&before, &after}) {
    object->erase("status");
    if (object->contains("metadata")) (*object)["metadata"].erase("finalizers");
  }
  std::string changed = DescribeDifference(before, after);
  if (!changed.empty()) {
    violations.push_back(
        At(commit, "I6", "the operator changed more than status and finalizers: " + changed));
  }
}

void RightsRule::CheckAuthority(const Commit& commit, Violations& violations) {
  if (!IsOf(commit, "", "secrets") || commit.key.name != api::kShardWebhookName || !commit.after)
    return;
  const Json& data = kube::ObjectAt(*commit.after, "data");
  auto authority = data.find("ca.crt");
  if (authority == data.end() || !authority->is_string()) return;
  auto [known, is_new] = authorities_.try_emplace(authority->get<std::string>(), commit.key.ns);
  if (!is_new && known->second != commit.key.ns) {
    violations.push_back(At(commit, "I6", "has the certificate authority of " + known->second));
  }
}

bool RightsRule::IsBound(std::string_view role, Time at) const {
  auto found = bindings_.find(role);
  if (found == bindings_.end()) return false;
  return found->second == Time::max() || at <= found->second + facts_.timing.rights_lag;
}

}  // namespace sim::checker
