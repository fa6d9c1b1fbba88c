// SPDX-License-Identifier: Apache-2.0
// ClusterPodPlacementConfig (v1beta1, the storage version): the singleton "cluster" that switches
// the product on and configures it. v1alpha1 is served through api/conversion.h.
//
// As with PodPlacementConfig, reading never refuses an object for what its spec says: see
// `problems`. Fields that do not fit have their defaults.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/conditions.h"
#include "api/field_error.h"
#include "api/plugins.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace api {

// Told to who enables that plugin, at once and in the status.
inline constexpr std::string_view kExecFormatErrorMonitorUnsupported =
    "plugins.execFormatErrorMonitor is enabled but not supported: exec format errors are not "
    "reported";

inline constexpr std::chrono::seconds kDefaultShardTakeoverAfter{30};
inline constexpr std::chrono::seconds kDefaultInspectionRetryPeriod{60};

struct ClusterPodPlacementConfigSpec {
  // Normal, Debug, Trace or TraceAll.
  std::string log_verbosity = "Normal";
  // Absent and empty both select every namespace.
  std::optional<kube::meta::LabelSelector> namespace_selector;
  std::optional<Plugins> plugins;
  // The architecture that a pod is bound to when its images cannot be inspected; "" for none.
  std::string fallback_architecture;

  // Where there is no OpenShift to read these from. Names of objects in the operator's namespace,
  // "" for none.
  std::string global_pull_secret;    // a dockerconfigjson or dockercfg Secret; applies to every pod
  std::string ca_bundle_config_map;  // PEM bundles, any key: trusted for every registry
  std::string registries_config_map;  // keys registries.conf and policy.json
  // How long a pod may wait for a shard that does not answer; 5 s to 1 h, as whole seconds.
  std::chrono::seconds shard_takeover_after = kDefaultShardTakeoverAfter;
  // From the first failed inspection of a pod's images to the last; 5 s to 1 h, as whole seconds.
  std::chrono::seconds inspection_retry_period = kDefaultInspectionRetryPeriod;
};

struct ClusterPodPlacementConfigStatus {
  std::vector<Condition> conditions;

  bool operator==(const ClusterPodPlacementConfigStatus&) const = default;
};

class ClusterPodPlacementConfig {
 public:
  // kInvalid only for what is not a JSON object.
  static kube::Result<ClusterPodPlacementConfig> FromJson(kube::Json json);
  kube::Json ToJson() const;

  const kube::meta::ObjectMeta& metadata() const { return metadata_; }
  kube::meta::ObjectMeta* mutable_metadata() { return &metadata_; }

  // The preferences in force: empty when the plugin is off or absent, or says something that does
  // not fit.
  std::span<const Platform> Preferences() const;
  // True if the plugin execFormatErrorMonitor is enabled, which is not supported.
  bool WantsExecFormatErrorMonitor() const;

  ClusterPodPlacementConfigSpec spec;
  ClusterPodPlacementConfigStatus status;
  FieldErrors problems;

 private:
  kube::meta::ObjectMeta metadata_;
};

// "30s", "5m", "1h30m": what a duration field holds, from 5 s to 1 h. kInvalid for anything else.
kube::Result<std::chrono::seconds> ParsePeriod(std::string_view text);

kube::Json SpecToJson(const ClusterPodPlacementConfigSpec& spec);
kube::Json StatusToJson(const ClusterPodPlacementConfigStatus& status);

}  // namespace api

template <>
struct kube::ResourceOf<api::ClusterPodPlacementConfig> {
  static constexpr Resource value{"multiarch.openshift.io", "v1beta1", "clusterpodplacementconfigs",
                                  "ClusterPodPlacementConfig", /*namespaced=*/false};
};
