// SPDX-License-Identifier: Apache-2.0
// Every name that other programs can see: gates, labels, annotations, event reasons, objects.
#pragma once

#include <string>
#include <string_view>

namespace api {

inline constexpr std::string_view kGroup = "multiarch.openshift.io";
inline constexpr std::string_view kClusterConfigName = "cluster";

// The field manager of server-side applies.
inline constexpr std::string_view kFieldManager = "multiarch-tuning-operator";

// Scheduling gates.
inline constexpr std::string_view kClusterGate = "multiarch.openshift.io/scheduling-gate";
inline constexpr std::string_view kLocalGate = "multiarch.openshift.io/local-scheduling-gate";

// Pod labels. The label of a gate has the gate's name.
inline constexpr std::string_view kLabelPrefix = "multiarch.openshift.io/";
inline constexpr std::string_view kClusterGateLabel = kClusterGate;
inline constexpr std::string_view kLocalGateLabel = kLocalGate;
inline constexpr std::string_view kNodeAffinityLabel = "multiarch.openshift.io/node-affinity";
inline constexpr std::string_view kPreferredNodeAffinityLabel =
    "multiarch.openshift.io/preferred-node-affinity";
inline constexpr std::string_view kSingleArchLabel = "multiarch.openshift.io/single-arch";
inline constexpr std::string_view kMultiArchLabel = "multiarch.openshift.io/multi-arch";
inline constexpr std::string_view kNoSupportedArchLabel =
    "multiarch.openshift.io/no-supported-arch";
inline constexpr std::string_view kFallbackArchLabel = "multiarch.openshift.io/fallback-arch";
inline constexpr std::string_view kInspectErrorLabel = "multiarch.openshift.io/image-inspect-error";
inline constexpr std::string_view kInspectErrorCountLabel =
    "multiarch.openshift.io/image-inspect-error-count";

// On a pod or a namespace, with any value: opts out of placement. The pod, and the pods of the
// namespace, are never gated. The Go operator's documents use it in the namespaceSelector.
inline constexpr std::string_view kExcludeLabel = "multiarch.openshift.io/exclude-pod-placement";

// Label values.
inline constexpr std::string_view kGated = "gated";
inline constexpr std::string_view kRemoved = "removed";
inline constexpr std::string_view kNotSet = "not-set";
inline constexpr std::string_view kSet = "set";

// Pod annotations.
// By the local webhook: the names of the PodPlacementConfigs that gated the pod, and CONFIG/RULE
// for each of their rules that matched, comma separated.
inline constexpr std::string_view kLocalConfigsAnnotation = "multiarch.openshift.io/local-configs";
inline constexpr std::string_view kPreferredAffinitySourcesAnnotation =
    "multiarch.openshift.io/preferred-affinity-sources";
inline constexpr std::string_view kInspectErrorAnnotation =
    "multiarch.openshift.io/image-inspect-error";
// For the cluster controller, by whoever decided the preferences: the name of the
// PodPlacementConfig whose plugin architectureTolerations decides for the pod.
inline constexpr std::string_view kLocalTolerationsAnnotation =
    "multiarch.openshift.io/local-tolerations";
// The terms that got a requirement (see placement/required_terms.h).
inline constexpr std::string_view kRequiredTermsAnnotation =
    "multiarch.openshift.io/required-terms";

// A Lease in each namespace where PodPlacementConfigs are being written, and the prefix of its
// annotations, one for each config (see watches/announcements.h).
inline constexpr std::string_view kAnnouncementsName = "pod-placement-announcements";
inline constexpr std::string_view kAnnouncementAnnotationPrefix =
    "announced.multiarch.openshift.io/";
// On a Lease with an announced config that may change pods, with any value: for the operator that
// leads.
inline constexpr std::string_view kPreferencesAnnouncedAnnotation =
    "multiarch.openshift.io/preferences-announced";

// On a ClusterPodPlacementConfig in v1alpha1: the fields that only v1beta1 has (see
// api/conversion.h). The first is the Go operator's; the second has the other fields as JSON.
inline constexpr std::string_view kFallbackArchitectureAnnotation =
    "multiarch.openshift.io/fallback-architecture";
inline constexpr std::string_view kV1beta1SpecAnnotation = "multiarch.openshift.io/v1beta1-spec";

// Node labels.
inline constexpr std::string_view kArchLabel = "kubernetes.io/arch";
inline constexpr std::string_view kOsLabel = "kubernetes.io/os";
inline constexpr std::string_view kWindowsBuildLabel = "node.kubernetes.io/windows-build";
inline constexpr std::string_view kMasterNodeLabel = "node-role.kubernetes.io/master";
inline constexpr std::string_view kControlPlaneNodeLabel = "node-role.kubernetes.io/control-plane";

// The operator's operands have this label (value: the name of the binary) and are never gated.
inline constexpr std::string_view kOperandLabel = "multiarch.openshift.io/operand";

// Finalizers of the CPPC.
inline constexpr std::string_view kPodPlacementFinalizer =
    "finalizers.multiarch.openshift.io/pod-placement";
inline constexpr std::string_view kNoPodPlacementConfigFinalizer =
    "finalizers.multiarch.openshift.io/no-pod-placement-config";
// With the plugin execFormatErrorMonitor: the ENoExecEvents are deleted before the config is gone.
inline constexpr std::string_view kENoExecEventsFinalizer =
    "finalizers.multiarch.openshift.io/enoexec-events";

// Events.
inline constexpr std::string_view kEventComponent = "multiarch-tuning-operator";
inline constexpr std::string_view kReasonStaleInspection = "ArchAwareStaleInspection";
// An image does not run where its index says: it was placed elsewhere; or nothing else is left.
inline constexpr std::string_view kReasonImageFinding = "ArchAwareImageFinding";
inline constexpr std::string_view kReasonImageFindingIgnored = "ArchAwareImageFindingIgnored";
inline constexpr std::string_view kReasonPredicateSet = "ArchAwarePredicateSet";
inline constexpr std::string_view kReasonGateAdded = "ArchAwareSchedGateAdded";
inline constexpr std::string_view kReasonGateRemoved = "ArchAwareSchedGateRemovalSuccess";
inline constexpr std::string_view kReasonGateRemovalFailed = "ArchAwareSchedGateRemovalFailed";
inline constexpr std::string_view kReasonPredicatesConflict = "ArchAwarePredicatesConflict";
inline constexpr std::string_view kReasonInspectionError = "ArchAwareInspectionError";
inline constexpr std::string_view kReasonGatedPodIgnored = "ArchAwareGatedPodIgnored";
inline constexpr std::string_view kReasonNoSupportedArchitectures = "NoSupportedArchitecturesFound";
inline constexpr std::string_view kReasonPreferredDuplicates =
    "ArchAwarePreferredAffinityDuplicates";
inline constexpr std::string_view kReasonTooManyPreferences = "ArchAwareTooManyPreferences";
inline constexpr std::string_view kReasonFallbackSet = "ArchAwareFallbackPredicateSet";
inline constexpr std::string_view kReasonShardTakeover = "ArchAwareShardTakeover";
inline constexpr std::string_view kReasonTolerationsSet = "ArchAwareTolerationsSet";
inline constexpr std::string_view kReasonRulesNotEvaluated = "ArchAwareRulesNotEvaluated";

// The metric of the shard and of the cluster controller, with its help text.
inline constexpr char kPodsGatedMetric[] = "mto_ppo_pods_gated";
inline constexpr char kPodsGatedHelp[] = "Pods that have a scheduling gate of this program";

// Objects of the cluster's operands, in the operator's namespace, with the names of the Go
// operator.
inline constexpr std::string_view kControllerName = "pod-placement-controller";
inline constexpr std::string_view kWebhookName = "pod-placement-web-hook";
inline constexpr std::string_view kMutatingWebhookConfigurationName =
    "pod-placement-mutating-webhook-configuration";
inline constexpr std::string_view kDefaultOperatorNamespace = "openshift-multiarch-tuning-operator";
// The Service of the operator's own webhooks: validation of both kinds, and the CRD's conversion
inline constexpr std::string_view kOperatorServiceName =
    "multiarch-tuning-operator-controller-manager-service";

// Objects of a shard, in the namespace of its PodPlacementConfigs. The Lease has the controller's
// name.
inline constexpr std::string_view kShardControllerName = "pod-placement-shard-controller";
inline constexpr std::string_view kShardWebhookName = "pod-placement-shard-web-hook";
// Cluster-scoped, so the namespace is part of the name: "pod-placement-shard-NAMESPACE". The
// namespace's ValidatingAdmissionPolicy of rules and its binding have the same name.
inline std::string ShardWebhookConfigurationName(std::string_view ns) {
  return "pod-placement-shard-" + std::string(ns);
}

// Paths of the cluster's webhook (the first as in clusters that run the Go operator). The API
// server calls the second one for pods that a configuration in force may prefer an architecture
// for.
inline constexpr std::string_view kClusterGatePath = "/add-pod-scheduling-gate";
inline constexpr std::string_view kClusterPreferencesPath =
    "/add-pod-scheduling-gate/with-preferences";
// Path of a shard's webhook, followed by CONFIG, the name of the PodPlacementConfig, or
// CONFIG/RULE.
inline constexpr std::string_view kLocalGatePathPrefix = "/local/";
// Paths of the operator's webhooks.
inline constexpr std::string_view kValidateConfigPath =
    "/validate-multiarch-openshift-io-v1beta1-podplacementconfig";
inline constexpr std::string_view kValidateClusterConfigPath =
    "/validate-multiarch-openshift-io-v1beta1-clusterpodplacementconfig";
inline constexpr std::string_view kConversionPath = "/convert";

}  // namespace api
