// SPDX-License-Identifier: Apache-2.0
// PodPlacementConfig (v1beta1): the architecture preferences of a namespace for the pods that its
// selector picks.
//
// Reading never refuses an object for what its spec says, or one bad object would stop the watch of
// all: what does not fit is named in `problems`, which the webhook answers with, and a config with
// problems prefers nothing. Not for PUT of an object that came from the server: fields that are not
// named here would be lost. Patch it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/conditions.h"
#include "api/field_error.h"
#include "api/plugins.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace api {

struct PodPlacementConfigSpec {
  // Absent and empty both select every pod of the namespace.
  std::optional<kube::meta::LabelSelector> label_selector;
  // 0 to 255; the higher one is applied first.
  int32_t priority = 0;
  // Required by the API; nullopt only with problems.
  std::optional<Plugins> plugins;
};

// One workload of the shard, as the status shows it.
struct ShardController {
  std::string name;  // the Deployment's
  std::string kind;  // "Controller" or "Webhook"
  int64_t replicas = 0;
  int64_t ready_replicas = 0;
  std::string version;

  bool operator==(const ShardController&) const = default;
};

struct PodPlacementConfigStatus {
  int64_t observed_generation = 0;
  std::vector<Condition> conditions;
  std::vector<ShardController> controllers;

  bool operator==(const PodPlacementConfigStatus&) const = default;
};

class PodPlacementConfig {
 public:
  // kInvalid only for what is not a JSON object.
  static kube::Result<PodPlacementConfig> FromJson(kube::Json json);
  kube::Json ToJson() const;

  const kube::meta::ObjectMeta& metadata() const { return metadata_; }
  kube::meta::ObjectMeta* mutable_metadata() { return &metadata_; }

  // The preferences in force: empty when the plugin is off or absent, or the config has problems.
  std::span<const Platform> Preferences() const;

  PodPlacementConfigSpec spec;
  PodPlacementConfigStatus status;
  FieldErrors problems;

 private:
  kube::meta::ObjectMeta metadata_;
};

// The spec and the status alone, for comparing and for patches.
kube::Json SpecToJson(const PodPlacementConfigSpec& spec);
kube::Json StatusToJson(const PodPlacementConfigStatus& status);

}  // namespace api

template <>
struct kube::ResourceOf<api::PodPlacementConfig> {
  static constexpr Resource value{"multiarch.openshift.io", "v1beta1", "podplacementconfigs",
                                  "PodPlacementConfig"};
};
