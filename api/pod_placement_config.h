// SPDX-License-Identifier: Apache-2.0
// PodPlacementConfig (v1beta1): the architecture preferences for the pods of a namespace that its
// selector matches.
//
// FromJson() accepts every object, because one refused object would stop the watch of all. What is
// wrong with the spec is listed in `problems`: the validating webhook refuses such a config, and
// one that is stored anyway has no preferences. Do not PUT an object that the API server returned:
// fields without a member here would be lost. Patch it.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/architecture_tolerations.h"
#include "api/cel_rule.h"
#include "api/conditions.h"
#include "api/field_error.h"
#include "api/fields.h"
#include "api/node_affinity_scoring.h"
#include "kube/base/error.h"
#include "kube/types/meta.pb.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace api {

// Budgets of the specs as JSON without whitespace. A process keeps what is parsed, which needs up
// to fourteen times as much memory.
inline constexpr size_t kMaxConfigBytes = 64 * 1024;            // of one config
inline constexpr size_t kMaxNamespaceConfigBytes = 256 * 1024;  // of all of a namespace
inline constexpr size_t kMaxConfigsBytes = 2 * 1024 * 1024;     // of all namespaces
// A config counts at least this much, as its metadata and status need memory too.
inline constexpr size_t kMinConfigBytes = 256;

// Why a spec of more than kMaxConfigBytes is refused.
std::string TooManyBytes(size_t spec_bytes);

struct Plugins {
  std::optional<NodeAffinityScoring> node_affinity_scoring;
  std::optional<ArchitectureTolerations> architecture_tolerations;

  bool operator==(const Plugins&) const = default;
  static void Fields(auto& plugins, auto& field) {
    field("nodeAffinityScoring", plugins.node_affinity_scoring);
    field("architectureTolerations", plugins.architecture_tolerations);
  }
};

struct PodPlacementConfigSpec {
  // Absent and empty both select every pod of the namespace.
  std::optional<kube::meta::LabelSelector> label_selector;
  // Configs are applied in descending priority.
  int32_t priority = 0;
  // nullopt only with problems.
  std::optional<Plugins> plugins;
  // For the pods of `label_selector`. In their order, and before the plugin nodeAffinityScoring.
  std::vector<CelRule> cel_rules;

  static void Fields(auto& spec, auto& field) {
    field("labelSelector", spec.label_selector);
    field("priority", spec.priority, Range{.low = 0, .high = 255});
    field("plugins", spec.plugins, kRequired);
    field("celRules", spec.cel_rules, Items{.max = kMaxCelRules, .unique = "name"});
  }
};

inline constexpr std::array<std::string_view, 2> kShardControllerKinds = {"Controller", "Webhook"};

// One workload of the shard.
struct ShardController {
  std::string name;  // of the Deployment
  std::string kind;
  int64_t replicas = 0;
  int64_t ready_replicas = 0;
  std::string version;

  bool operator==(const ShardController&) const = default;
  static void Fields(auto& controller, auto& field) {
    field("name", controller.name, kRequired);
    field("kind", controller.kind, OneOf{kShardControllerKinds}, kRequired);
    field("replicas", controller.replicas, Range{.low = 0});
    field("readyReplicas", controller.ready_replicas, Range{.low = 0});
    field("version", controller.version);
  }
};

// What gates the new pods that a config selects. The operator's admission policy gates for those
// with kGatedByPolicy.
inline constexpr std::string_view kGatedByNothing = "None";
inline constexpr std::string_view kGatedByWebhook = "Webhook";
inline constexpr std::string_view kGatedByPolicy = "Policy";
inline constexpr std::array<std::string_view, 3> kGatedBy = {kGatedByNothing, kGatedByWebhook,
                                                             kGatedByPolicy};

struct PodPlacementConfigStatus {
  int64_t observed_generation = 0;
  std::vector<Condition> conditions;
  std::vector<ShardController> controllers;
  std::string gated_by;  // one of kGatedBy; "" before the first status

  bool operator==(const PodPlacementConfigStatus&) const = default;
  static void Fields(auto& status, auto& field) {
    field("observedGeneration", status.observed_generation, Range{.low = 0});
    field("conditions", status.conditions, Items{});
    field("controllers", status.controllers, Items{.max = 16});
    field("gatedBy", status.gated_by, OneOf{kGatedBy});
  }
};

class PodPlacementConfig {
 public:
  // kInvalid only if `json` is not a JSON object.
  static kube::Result<PodPlacementConfig> FromJson(kube::Json json);
  kube::Json ToJson() const;

  const kube::meta::ObjectMeta& metadata() const { return metadata_; }
  kube::meta::ObjectMeta* mutable_metadata() { return &metadata_; }

  // The preferences to apply: none if the plugin is absent or disabled, or the config has problems.
  std::span<const Platform> Preferences() const;
  // The rules in their order: none if the config has problems.
  std::span<const CelRule> Rules() const;
  // The config may give preferences to a pod: by the plugin or by a rule.
  bool MayPrefer() const { return !Preferences().empty() || !Rules().empty(); }
  // The plugin architectureTolerations; nullptr if it is absent, or the config has problems.
  const ArchitectureTolerations* Tolerations() const;
  // The config may change a pod, by preferences or tolerations.
  bool MayChangePods() const { return MayPrefer() || Tolerations() != nullptr; }

  // What the config counts for the budgets above.
  size_t BudgetBytes() const { return std::max(spec_bytes, kMinConfigBytes); }
  // For a spec that exceeds a budget: drops it, and `why` becomes its problem.
  void LeaveOut(std::string why);

  PodPlacementConfigSpec spec;
  PodPlacementConfigStatus status;
  FieldErrors problems;
  // The size of the spec as stored, whatever LeaveOut() dropped.
  size_t spec_bytes = 0;
  // LeaveOut() was called.
  bool too_large = false;

 private:
  kube::meta::ObjectMeta metadata_;
};

// The spec and the status alone, for comparisons and for patches.
kube::Json SpecToJson(const PodPlacementConfigSpec& spec);
kube::Json StatusToJson(const PodPlacementConfigStatus& status);

}  // namespace api

template <>
struct kube::ResourceOf<api::PodPlacementConfig> {
  static constexpr Resource value{"multiarch.openshift.io", "v1beta1", "podplacementconfigs",
                                  "PodPlacementConfig"};
};
