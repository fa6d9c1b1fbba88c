// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/cause.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "api/find_condition.h"
#include "api/known_images.h"
#include "api/names.h"
#include "exec-format/names.h"
#include "kube/base/join.h"
#include "placement/gate.h"
#include "placement/pod_metadata.h"
#include "plugin/pod/never_gated.h"
#include "plugin/pod/node_fit.h"

namespace plugin {
namespace {

using kube::core::Event;
using kube::core::Pod;
using kube::core::PodCondition;
using placement::HasGate;
using placement::HasLabel;

using Answer = std::optional<Cause>;

bool IsGated(const Pod& pod) {
  return HasGate(pod, api::kClusterGate) || HasGate(pod, api::kLocalGate);
}

bool WasPlaced(const Pod& pod) {
  return HasLabel(pod, api::kClusterGateLabel) || HasLabel(pod, api::kLocalGateLabel) ||
         HasLabel(pod, api::kPlacedAtCreationLabel);
}

// The last one with this reason; nullptr if there is none.
const Event* LastEvent(const PodEvidence& evidence, std::string_view reason) {
  auto last = std::find_if(evidence.events.rbegin(), evidence.events.rend(),
                           [&](const Event& event) { return event.reason() == reason; });
  return last == evidence.events.rend() ? nullptr : &*last;
}

std::string SchedulerSays(const Pod& pod) {
  for (const PodCondition& condition : pod.status().conditions()) {
    if (condition.type() == "PodScheduled" && condition.status() != "True")
      return condition.message();
  }
  return "";
}

// --- What keeps a gate.

Answer AwaitsOtherGates(const PodEvidence& evidence) {
  std::vector<std::string> others = placement::OtherGates(evidence.pod);
  if (others.empty()) return std::nullopt;
  return Cause{"AwaitsOtherGates",
               "the gate " + kube::Join(others, others.size()) + " is of another controller",
               "that controller must remove its gate; the operator's is removed as the last one"};
}

Answer WritesAreRefused(const PodEvidence& evidence) {
  const Event* event = LastEvent(evidence, api::kReasonGateRemovalFailed);
  if (event == nullptr || !IsGated(evidence.pod)) return std::nullopt;
  return Cause{"WriteRefused",
               "the API server does not store the pod without its gate: " + event->message(),
               "change the policy or the webhook that refuses this; pods with these gates must be "
               "writable by the operator's controllers"};
}

struct KnownFailure {
  std::string_view text;  // of the error
  std::string_view name;
  std::string_view why;
  std::string_view next;
};
// The first one that is in the error counts.
constexpr KnownFailure kFailures[] = {
    {"401", "RegistryRefusesCredentials", "the registry wants other credentials",
     "check the Secrets of imagePullSecrets, and that they are for this registry and repository"},
    {"403", "RegistryRefusesCredentials", "the registry does not allow the image to be read",
     "check what the account of the pull secret may read"},
    {"404", "ImageNotFound", "the registry does not have the image, or hides it",
     "check the name and the tag; a private image needs a Secret in imagePullSecrets"},
    {"429", "RegistryLimitsRequests", "the registry limits requests",
     "use credentials or a mirror, or wait"},
    {"certificate", "RegistryNotTrusted", "the certificate of the registry is not trusted",
     "name its authority in spec.caBundleConfigMapRef of the ClusterPodPlacementConfig"},
    {"policy", "ImageRefusedByPolicy", "policy.json refuses the image",
     "use an image that the policy allows"},
};

Answer InspectionFails(const PodEvidence& evidence) {
  const Pod& pod = evidence.pod;
  const std::string error(placement::AnnotationOf(pod, api::kInspectErrorAnnotation));
  if (!HasLabel(pod, api::kInspectErrorLabel)) return std::nullopt;
  const std::string end = IsGated(pod) ? "; it is asked again, five times in all"
                                       : "; the pod was released without knowing its images";
  for (const KnownFailure& failure : kFailures) {
    if (error.find(failure.text) == std::string::npos) continue;
    return Cause{std::string(failure.name), std::string(failure.why) + ": " + error + end,
                 std::string(failure.next)};
  }
  return Cause{"RegistryUnreachable", "the images could not be inspected: " + error + end,
               "the cluster controller must reach the registry: check its name, DNS, "
               "NetworkPolicies and proxies of the operator's namespace"};
}

Answer ShardDoesNotWork(const PodEvidence& evidence) {
  if (!HasGate(evidence.pod, api::kLocalGate)) return std::nullopt;
  for (const api::PodPlacementConfig& config : evidence.around->configs) {
    const api::Condition* available = api::FindCondition(config.status.conditions, api::kAvailable);
    if (available == nullptr || available->status == "True") continue;
    return Cause{"ShardNotAvailable",
                 "the shard of the namespace does not work: " + available->reason + ": " +
                     available->message,
                 "the cluster controller takes over after spec.shardTakeoverAfter; look at the "
                 "condition Degraded of the PodPlacementConfig " +
                     config.metadata().name()};
  }
  return Cause{"AwaitsShard", "the shard of the namespace has not decided yet",
               "wait; the cluster controller takes over after spec.shardTakeoverAfter"};
}

Answer ControllerDoesNotWork(const PodEvidence& evidence) {
  if (!HasGate(evidence.pod, api::kClusterGate)) return std::nullopt;
  if (evidence.around->has_no_cluster_config)
    return Cause{"NoClusterPodPlacementConfig",
                 "there is no ClusterPodPlacementConfig cluster, so no controller removes the gate",
                 "create it, or remove the gate"};
  if (evidence.around->cluster_config) {
    const api::Condition* available =
        api::FindCondition(evidence.around->cluster_config->status.conditions, api::kAvailable);
    if (available != nullptr && available->status != "True")
      return Cause{"OperatorNotAvailable", available->reason + ": " + available->message,
                   "look at the condition Degraded of the ClusterPodPlacementConfig cluster"};
  }
  return Cause{"AwaitsInspection", "the images are being inspected",
               "wait; an image takes five attempts within spec.inspectionRetryPeriod at most"};
}

// --- What keeps a pod without a gate from being scheduled.

Answer NothingInCommon(const PodEvidence& evidence) {
  if (!HasLabel(evidence.pod, api::kNoSupportedArchLabel)) return std::nullopt;
  return Cause{"NoCommonArchitecture",
               "the images have no architecture in common, on the operating systems that the pod "
               "allows: it requires a label that no node has, so that it does not crash on one",
               "use images that share an architecture"};
}

bool ConstrainsArchitectureItself(const Pod& pod) {
  return pod.spec().node_selector().contains(std::string(api::kArchLabel)) ||
         placement::LabelOf(pod, api::kNodeAffinityLabel) == api::kNotSet;
}

Answer NoNodeFits(const PodEvidence& evidence) {
  const Pod& pod = evidence.pod;
  if (!evidence.around->nodes || IsGated(pod) || !pod.spec().node_name().empty())
    return std::nullopt;
  FitSummary fit = Summarize(pod.spec(), *evidence.around->nodes);
  if (fit.fitting > 0) return std::nullopt;
  if (auto tainted = fit.others.find(Misfit::kTaint); tainted != fit.others.end()) {
    const auto& [why, nodes] = *tainted->second.begin();
    return Cause{"NodesAreTainted", kube::Join(nodes, 4) + " could run it, but " + why,
                 "add a toleration to the pod; for taints of architectures, the plugin "
                 "architectureTolerations does that"};
  }
  if (fit.others.contains(Misfit::kArchitecture)) {
    if (ConstrainsArchitectureItself(pod))
      return Cause{"OwnConstraint",
                   "the pod itself says which architecture it needs, and no node has that",
                   "change its node selector or affinity on kubernetes.io/arch"};
    return Cause{"NoNodeOfArchitecture", "no node has an architecture that the images are for",
                 "add such nodes, or publish the images for more architectures"};
  }
  return Cause{"NoNodeSelected", "no node has the labels that the pod selects",
               "change its node selector or affinity, or label nodes"};
}

Answer SchedulerRefuses(const PodEvidence& evidence) {
  const Pod& pod = evidence.pod;
  if (IsGated(pod) || !pod.spec().node_name().empty()) return std::nullopt;
  std::string says = SchedulerSays(pod);
  if (says.empty()) return std::nullopt;
  return Cause{"NotScheduled", "the scheduler says: " + says, "see what the scheduler asks for"};
}

// --- What keeps a pod on its node from running.

Answer ExecFormatError(const PodEvidence& evidence) {
  if (!HasLabel(evidence.pod, exec_format::kExecFormatErrorLabel)) return std::nullopt;
  const Event* event = LastEvent(evidence, exec_format::kReasonExecFormatError);
  return Cause{"ExecFormatError",
               event != nullptr ? event->message()
                                : "a file was executed in the pod that is no program for its node",
               "build the image again, with the program of each architecture; until then, create "
               "the pod again: its image is placed on other architectures once the plugin "
               "imageFindings has found it"};
}

// --- Why a pod was not placed by architecture.

Answer NotPlaced(const PodEvidence& evidence) {
  const Pod& pod = evidence.pod;
  if (WasPlaced(pod)) return std::nullopt;
  if (Answer never = WhyNeverGated(pod, *evidence.around)) return never;
  if (!evidence.around->cluster_config) return std::nullopt;
  const api::ClusterPodPlacementConfig& config = *evidence.around->cluster_config;
  const auto& created = pod.metadata().creation_timestamp();
  if (created.seconds() < config.metadata().creation_timestamp().seconds())
    return Cause{"OlderThanTheOperator", "the pod is older than the ClusterPodPlacementConfig",
                 "create the pod again"};
  const api::Condition* available = api::FindCondition(config.status.conditions, api::kAvailable);
  if (available != nullptr && available->status != "True")
    return Cause{
        "NotGated",
        "the operator does not gate new pods: " + available->reason + ": " + available->message,
        "look at the conditions of the ClusterPodPlacementConfig cluster"};
  return Cause{"NotGated",
               "the pod got no gate when it was created: the API server did not reach the webhook "
               "then, or the pod required its architecture itself",
               "create the pod again; if that happens again, look at the conditions of the "
               "ClusterPodPlacementConfig cluster"};
}

}  // namespace

Cause FindCause(const PodEvidence& evidence) {
  constexpr Answer (*kAnswers[])(const PodEvidence&) = {
      AwaitsOtherGates, WritesAreRefused, ShardDoesNotWork, InspectionFails, ControllerDoesNotWork,
      NothingInCommon,  NoNodeFits,       SchedulerRefuses, ExecFormatError, NotPlaced};
  for (auto answer : kAnswers) {
    if (Answer cause = answer(evidence)) return std::move(*cause);
  }
  return {};
}

}  // namespace plugin
