// SPDX-License-Identifier: Apache-2.0
#include "api/operands.h"

#include <cmath>

#include "api/json_fields.h"
#include "api/json_reader.h"
#include "kube/types/quantity.h"

namespace api {
namespace {

// In whole `bounds.unit`s.
int64_t UnitsOf(std::string_view quantity, const Quantity& bounds) {
  return std::llround(kube::ParseQuantity(quantity).value_or(0) / bounds.unit);
}

void Override(const std::optional<ResourceAmounts>& amounts, std::string& cpu,
              std::string& memory) {
  if (!amounts) return;
  if (!amounts->cpu.empty()) cpu = kube::CanonicalCpu(amounts->cpu);
  if (!amounts->memory.empty()) memory = kube::CanonicalMemory(amounts->memory);
}

// Why `size` does not fit; "" if it does.
std::string WhyUnfit(const OperandSize& size, const OperandDefaults& defaults) {
  auto below = [](const std::string& what, std::string_view limit, const std::string& of,
                  std::string_view least) {
    return "the " + what + " limit " + std::string(limit) + " is below " + of + " " +
           std::string(least);
  };
  if (UnitsOf(size.memory_limit, kMemory) < UnitsOf(defaults.memory_limit, kMemory)) {
    return below("memory", size.memory_limit, "what the budgets of this operand need,",
                 defaults.memory_limit);
  }
  if (UnitsOf(size.memory_limit, kMemory) < UnitsOf(size.memory_request, kMemory))
    return below("memory", size.memory_limit, "the request", size.memory_request);
  if (UnitsOf(size.cpu_limit, kCpu) < UnitsOf(size.cpu_request, kCpu))
    return below("CPU", size.cpu_limit, "the request", size.cpu_request);
  return "";
}

}  // namespace

OperandSize SizeOf(const std::optional<OperandSettings>& settings,
                   const OperandDefaults& defaults) {
  OperandSize size{.replicas = defaults.replicas,
                   .memory_limit = std::string(defaults.memory_limit)};
  if (!settings) return size;
  size.replicas = settings->replicas.value_or(size.replicas);
  if (settings->resources) {
    Override(settings->resources->requests, size.cpu_request, size.memory_request);
    Override(settings->resources->limits, size.cpu_limit, size.memory_limit);
  }
  return size;
}

void RefuseUnfit(Operands& operands, FieldErrors& problems) {
  auto check = [&](const char* name, std::optional<OperandSettings>& settings,
                   const OperandDefaults& defaults) {
    std::string why = WhyUnfit(SizeOf(settings, defaults), defaults);
    if (why.empty()) return;
    AddProblem(problems, "spec.operands." + std::string(name) + ".resources", std::move(why));
    settings->resources.reset();
  };
  check("controller", operands.controller, kControllerDefaults);
  check("webhook", operands.webhook, kWebhookDefaults);
  check("policyWebhook", operands.policy_webhook, kPolicyWebhookDefaults);
  check("shard", operands.shard, kShardDefaults);
}

kube::Json OperandsToJson(const Operands& operands) { return WriteFields(operands); }

}  // namespace api
