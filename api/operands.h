// SPDX-License-Identifier: Apache-2.0
// spec.operands of the ClusterPodPlacementConfig: replicas and resources of the operands. What is
// absent has its default.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/field_error.h"
#include "api/fields.h"
#include "kube/types/unstructured.h"

namespace api {

// The quota of the operator's namespace has room for five replicas of each operand.
inline constexpr Range kReplicas{.low = 1, .high = 5};
inline constexpr Quantity kCpu{.low = "1m", .high = "16", .unit = 1e-3};
inline constexpr Quantity kMemory{.low = "1Mi", .high = "16Gi", .unit = 1};

struct ResourceAmounts {
  std::string cpu;
  std::string memory;

  bool operator==(const ResourceAmounts&) const = default;
  static void Fields(auto& amounts, auto& field) {
    field("cpu", amounts.cpu, kCpu);
    field("memory", amounts.memory, kMemory);
  }
};

struct OperandResources {
  std::optional<ResourceAmounts> requests;
  std::optional<ResourceAmounts> limits;

  bool operator==(const OperandResources&) const = default;
  static void Fields(auto& resources, auto& field) {
    field("requests", resources.requests);
    field("limits", resources.limits);
  }
};

struct OperandSettings {
  std::optional<int64_t> replicas;
  std::optional<OperandResources> resources;

  bool operator==(const OperandSettings&) const = default;
  static void Fields(auto& settings, auto& field) {
    field("replicas", settings.replicas, kReplicas);
    field("resources", settings.resources);
  }
};

struct Operands {
  std::optional<OperandSettings> controller;
  std::optional<OperandSettings> webhook;
  std::optional<OperandSettings> policy_webhook;
  // Both Deployments of each namespace with a PodPlacementConfig.
  std::optional<OperandSettings> shard;

  bool operator==(const Operands&) const = default;
  static void Fields(auto& operands, auto& field) {
    field("controller", operands.controller);
    field("webhook", operands.webhook);
    field("policyWebhook", operands.policy_webhook);
    field("shard", operands.shard);
  }
};

struct OperandDefaults {
  int64_t replicas;
  // Also the least that may be set: the budgets of bytes (docs/reference.md) are parts of it.
  std::string_view memory_limit;
};

inline constexpr OperandDefaults kControllerDefaults{.replicas = 2, .memory_limit = "256Mi"};
inline constexpr OperandDefaults kWebhookDefaults{.replicas = 2, .memory_limit = "64Mi"};
// Tenants decide how many policies there are.
inline constexpr OperandDefaults kPolicyWebhookDefaults{.replicas = 2, .memory_limit = "256Mi"};
inline constexpr OperandDefaults kShardDefaults{.replicas = 1, .memory_limit = "64Mi"};

// What an operand gets. Quantities are as the API server stores them: "1", not "1000m".
struct OperandSize {
  int64_t replicas = 1;
  std::string cpu_request = "10m";
  std::string memory_request = "24Mi";
  std::string cpu_limit = "500m";
  std::string memory_limit = "64Mi";

  bool operator==(const OperandSize&) const = default;
};

OperandSize SizeOf(const std::optional<OperandSettings>& settings, const OperandDefaults& defaults);

// Adds a problem for, and removes, the `resources` of each operand with a limit below the request,
// or a memory limit below the default.
void RefuseUnfit(Operands& operands, FieldErrors& problems);

kube::Json OperandsToJson(const Operands& operands);

}  // namespace api
