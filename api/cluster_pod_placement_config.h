// SPDX-License-Identifier: Apache-2.0
// ClusterPodPlacementConfig (v1beta1, the storage version): the singleton "cluster" that enables
// and configures the product. v1alpha1 is served through conversion.h.
//
// As with PodPlacementConfig, FromJson() accepts every object and lists what is wrong with the spec
// in `problems`. Fields that are refused have their defaults.
#pragma once

#include <array>
#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/amd64_levels.h"
#include "api/architecture_tolerations.h"
#include "api/conditions.h"
#include "api/ephemeral_container_warnings.h"
#include "api/field_error.h"
#include "api/fields.h"
#include "api/image_findings.h"
#include "api/known_images.h"
#include "api/node_affinity_scoring.h"
#include "api/operands.h"
#include "api/pod_events.h"
#include "api/scheduling_policies.h"
#include "api/templates.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace api {

inline constexpr std::chrono::seconds kDefaultShardTakeoverAfter{30};
inline constexpr std::chrono::seconds kDefaultInspectionRetryPeriod{60};
inline constexpr Period kClusterConfigPeriods{.low = std::chrono::seconds(5),
                                              .high = std::chrono::hours(1)};

inline constexpr std::array<std::string_view, 4> kLogVerbosities = {"Normal", "Debug", "Trace",
                                                                    "TraceAll"};

// Tells the owners of pods of files that are not for the node (exec-format/).
struct ExecFormatErrorMonitor {
  bool enabled = false;

  bool operator==(const ExecFormatErrorMonitor&) const = default;
  static void Fields(auto& monitor, auto& field) { field("enabled", monitor.enabled, kRequired); }
};

// Which preferences a pod gets that a PodPlacementConfig gives preferences to: for each
// architecture those of the PodPlacementConfig, or else the cluster's...
inline constexpr std::string_view kPrecedenceOfArchitecture = "Architecture";
// ... or only those of PodPlacementConfigs.
inline constexpr std::string_view kPrecedenceOfNamespace = "Namespace";
inline constexpr std::array<std::string_view, 2> kPrecedences = {kPrecedenceOfArchitecture,
                                                                 kPrecedenceOfNamespace};

struct ClusterNodeAffinityScoring : NodeAffinityScoring {
  std::string precedence{kPrecedenceOfArchitecture};

  bool operator==(const ClusterNodeAffinityScoring&) const = default;
  static void Fields(auto& scoring, auto& field) {
    NodeAffinityScoring::Fields(scoring, field);
    field("precedence", scoring.precedence, OneOf{kPrecedences});
  }
};

struct ClusterPlugins {
  std::optional<ClusterNodeAffinityScoring> node_affinity_scoring;
  std::optional<ArchitectureTolerations> architecture_tolerations;
  std::optional<SchedulingPolicies> scheduling_policies;
  std::optional<TemplatesPlugin> templates;
  std::optional<DaemonSetsPlugin> daemon_sets;
  std::optional<Amd64LevelsPlugin> amd64_levels;
  std::optional<EphemeralContainerWarnings> ephemeral_container_warnings;
  std::optional<ExecFormatErrorMonitor> exec_format_error_monitor;
  std::optional<ImageFindingsPlugin> image_findings;

  bool operator==(const ClusterPlugins&) const = default;
  static void Fields(auto& plugins, auto& field) {
    field("nodeAffinityScoring", plugins.node_affinity_scoring);
    field("architectureTolerations", plugins.architecture_tolerations);
    field("schedulingPolicies", plugins.scheduling_policies);
    field("templates", plugins.templates);
    field("daemonSets", plugins.daemon_sets);
    field("amd64Levels", plugins.amd64_levels);
    field("ephemeralContainerWarnings", plugins.ephemeral_container_warnings);
    field("execFormatErrorMonitor", plugins.exec_format_error_monitor);
    field("imageFindings", plugins.image_findings);
  }
};

inline constexpr std::array<std::string_view, 3> kCertificateProviders = {"Operator", "CertManager",
                                                                          "ServiceCA"};

// An issuer of cert-manager.
struct IssuerReference {
  std::string name;
  std::string kind = "Issuer";
  std::string group = "cert-manager.io";

  bool operator==(const IssuerReference&) const = default;
  static void Fields(auto& issuer, auto& field) {
    field("name", issuer.name, kRequired);
    field("kind", issuer.kind);
    field("group", issuer.group);
  }
};

// The issuer of the certificates of the cluster's components.
struct Certificates {
  std::string provider{kCertificateProviders[0]};
  // Only for CertManager.
  std::optional<IssuerReference> issuer;

  bool operator==(const Certificates&) const = default;
  static void Fields(auto& certificates, auto& field) {
    field("provider", certificates.provider, OneOf{kCertificateProviders}, kRequired);
    field("issuerRef", certificates.issuer);
  }
};

// What adds the gates to new pods.
inline constexpr std::string_view kGatingByWebhook = "Webhook";
// MutatingAdmissionPolicies: the API server itself, without a call.
inline constexpr std::string_view kGatingByPolicy = "Policy";
inline constexpr std::array<std::string_view, 2> kGatings = {kGatingByWebhook, kGatingByPolicy};

// Limits of the schedulers whose pods are never gated. Each webhook that gates pods has all names
// in a condition.
inline constexpr size_t kMaxExcludedSchedulers = 16;
inline constexpr size_t kMaxSchedulerName = 63;

struct ClusterPodPlacementConfigSpec {
  std::string log_verbosity{kLogVerbosities[0]};
  // Absent and empty both select every namespace.
  std::optional<kube::meta::LabelSelector> namespace_selector;
  // Pods with one of these as spec.schedulerName are never gated.
  std::vector<std::string> excluded_scheduler_names;
  std::optional<ClusterPlugins> plugins;
  // Required of pods whose images cannot be inspected; "" for no requirement.
  std::string fallback_architecture;

  // Names of objects in the operator's namespace; "" for none.
  std::string global_pull_secret;    // a dockerconfigjson or dockercfg Secret; applies to every pod
  std::string ca_bundle_config_map;  // PEM bundles under any key; trusted for every registry
  std::string registries_config_map;  // keys registries.conf and policy.json

  // Absent: the operator issues them.
  std::optional<Certificates> certificates;

  std::string gating{kGatingByWebhook};
  // What happens to new pods whose images are known.
  std::string known_images{kGateKnownImages};
  // Which events of pods are recorded.
  std::string pod_events{kAllPodEvents};

  // Absent: all have their defaults.
  std::optional<Operands> operands;

  // How long a shard may be unavailable until the cluster controller does its work.
  std::chrono::seconds shard_takeover_after = kDefaultShardTakeoverAfter;
  // From the first failed inspection of a pod's images to the last attempt.
  std::chrono::seconds inspection_retry_period = kDefaultInspectionRetryPeriod;

  static void Fields(auto& spec, auto& field) {
    field("logVerbosity", spec.log_verbosity, OneOf{kLogVerbosities});
    field("namespaceSelector", spec.namespace_selector);
    field("excludedSchedulerNames", spec.excluded_scheduler_names,
          Names{.max_items = kMaxExcludedSchedulers, .max_bytes = kMaxSchedulerName});
    field("plugins", spec.plugins);
    field("fallbackArchitecture", spec.fallback_architecture, Architecture{.or_empty = true});
    field("globalPullSecretRef", spec.global_pull_secret, ObjectName{});
    field("caBundleConfigMapRef", spec.ca_bundle_config_map, ObjectName{});
    field("registriesConfigMapRef", spec.registries_config_map, ObjectName{});
    field("certificates", spec.certificates);
    field("gating", spec.gating, OneOf{kGatings});
    field("knownImages", spec.known_images, OneOf{kKnownImages});
    field("podEvents", spec.pod_events, OneOf{kPodEvents});
    field("operands", spec.operands);
    field("shardTakeoverAfter", spec.shard_takeover_after, kClusterConfigPeriods);
    field("inspectionRetryPeriod", spec.inspection_retry_period, kClusterConfigPeriods);
  }
};

struct ClusterPodPlacementConfigStatus {
  std::vector<Condition> conditions;

  bool operator==(const ClusterPodPlacementConfigStatus&) const = default;
  static void Fields(auto& status, auto& field) { field("conditions", status.conditions, Items{}); }
};

class ClusterPodPlacementConfig {
 public:
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<ClusterPodPlacementConfig> FromJson(kube::Json json);
  kube::Json ToJson() const;

  const kube::meta::ObjectMeta& metadata() const { return metadata_; }
  kube::meta::ObjectMeta* mutable_metadata() { return &metadata_; }

  // The preferences to apply: none if the plugin is absent or disabled; without the refused ones.
  std::span<const Platform> Preferences() const;
  // Preferences() are not for pods to which a PodPlacementConfig gives preferences.
  bool NamespaceTakesPrecedence() const;
  // The plugin architectureTolerations; nullptr if it is absent.
  const ArchitectureTolerations* Tolerations() const;
  // The plugin schedulingPolicies; nullptr if it is absent or disabled.
  const SchedulingPolicies* EnabledSchedulingPolicies() const;
  // The plugins templates and daemonSets, with their defaults if they are absent.
  TemplatesPlugin Templates() const;
  DaemonSetsPlugin DaemonSets() const;
  // True if the plugin amd64Levels is enabled.
  bool WantsAmd64Levels() const;
  // True if the plugin ephemeralContainerWarnings is enabled.
  bool WantsEphemeralContainerWarnings() const;
  // True if the plugin execFormatErrorMonitor is enabled.
  bool WantsExecFormatErrorMonitor() const;
  // The plugin imageFindings; without it, it is enabled with execFormatErrorMonitor.
  ImageFindingsPlugin ImageFindings() const;

  ClusterPodPlacementConfigSpec spec;
  ClusterPodPlacementConfigStatus status;
  FieldErrors problems;

 private:
  kube::meta::ObjectMeta metadata_;
};

kube::Json SpecToJson(const ClusterPodPlacementConfigSpec& spec);
kube::Json StatusToJson(const ClusterPodPlacementConfigStatus& status);

}  // namespace api

template <>
struct kube::ResourceOf<api::ClusterPodPlacementConfig> {
  static constexpr Resource value{"multiarch.openshift.io", "v1beta1", "clusterpodplacementconfigs",
                                  "ClusterPodPlacementConfig", /*namespaced=*/false};
};
