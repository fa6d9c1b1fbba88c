// SPDX-License-Identifier: Apache-2.0
#include "api/operands.h"

#include <gtest/gtest.h>

#include "api/json_fields.h"

namespace api {
namespace {

using kube::Json;

struct ReadOperands {
  Operands operands;
  FieldErrors problems;
};

ReadOperands Read(const std::string& text) {
  ReadOperands read;
  read.operands = ReadFields<Operands>(kube::MustParseJson(text), "spec.operands", read.problems);
  RefuseUnfit(read.operands, read.problems);
  return read;
}

TEST(OperandsTest, AbsentFieldsHaveDefaults) {
  const OperandSize controller{.replicas = 2, .memory_limit = "256Mi"};
  for (const char* text : {"{}", R"({"controller": {}})",
                           R"({"controller": {"replicas": null, "resources": {"limits": {}}}})"}) {
    ReadOperands read = Read(text);
    EXPECT_EQ(Describe(read.problems), "") << text;
    EXPECT_EQ(SizeOf(read.operands.controller, kControllerDefaults), controller) << text;
    EXPECT_EQ(SizeOf(read.operands.shard, kShardDefaults), OperandSize()) << text;
  }
}

TEST(OperandsTest, WhatIsSetIsUsedAndWrittenBack) {
  const char* text = R"({"policyWebhook": {"replicas": 5, "resources": {
      "requests": {"cpu": "0.25", "memory": "128Mi"}, "limits": {"cpu": "2", "memory": "1Gi"}}},
      "unknown": {"replicas": 100}})";
  ReadOperands read = Read(text);
  EXPECT_EQ(Describe(read.problems), "");
  EXPECT_EQ(SizeOf(read.operands.policy_webhook, kPolicyWebhookDefaults),
            (OperandSize{.replicas = 5,
                         .cpu_request = "250m",
                         .memory_request = "128Mi",
                         .cpu_limit = "2",
                         .memory_limit = "1Gi"}));
  Json known = kube::MustParseJson(text);
  known.erase("unknown");
  EXPECT_EQ(OperandsToJson(read.operands), known);
}

// Otherwise the Deployment would never be what the operator wants.
TEST(OperandsTest, QuantitiesAreThoseThatTheApiServerStores) {
  const std::pair<const char*, const char*> memory[] = {
      {"1024Mi", "1Gi"}, {"1.5Gi", "1536Mi"},   {"0.5Gi", "512Mi"},    {"268435456", "256Mi"},
      {"1000M", "1G"},   {"300000000", "300M"}, {"512000Ki", "500Mi"}, {"300000001", "300000001"}};
  for (const auto& [set, stored] : memory) {
    OperandSettings settings{.resources = OperandResources{.limits = ResourceAmounts{"", set}}};
    EXPECT_EQ(SizeOf(settings, kShardDefaults).memory_limit, stored) << set;
  }
  const std::pair<const char*, const char*> cpu[] = {
      {"1000m", "1"}, {"0.1", "100m"}, {"1.5", "1500m"}, {"16", "16"}, {"10m", "10m"}};
  for (const auto& [set, stored] : cpu) {
    OperandSettings settings{.resources = OperandResources{.limits = ResourceAmounts{set, ""}}};
    EXPECT_EQ(SizeOf(settings, kShardDefaults).cpu_limit, stored) << set;
  }
}

TEST(OperandsTest, WhatIsOutOfBoundsIsRefusedAndHasItsDefault) {
  struct Row {
    const char* shard;
    const char* problem;
  };
  const Row rows[] = {
      {R"({"replicas": 0})", "spec.operands.shard.replicas: must be an integer from 1 to 5"},
      {R"({"replicas": 6})", "spec.operands.shard.replicas: must be an integer from 1 to 5"},
      {R"({"resources": {"requests": {"cpu": "17"}}})",
       "spec.operands.shard.resources.requests.cpu: must be between 1m and 16"},
      {R"({"resources": {"requests": {"cpu": "1.0005"}}})",
       "spec.operands.shard.resources.requests.cpu: must be a quantity of whole millicores"},
      {R"({"resources": {"limits": {"memory": "32Gi"}}})",
       "spec.operands.shard.resources.limits.memory: must be between 1Mi and 16Gi"},
      {R"({"resources": {"limits": {"memory": "lots"}}})",
       "spec.operands.shard.resources.limits.memory: must be a quantity of whole bytes"},
      {R"({"resources": {"limits": {"memory": 1}}})",
       "spec.operands.shard.resources.limits.memory: must be a string"},
      {R"({"resources": {"limits": {"memory": "63Mi"}}})",
       "spec.operands.shard.resources: the memory limit 63Mi is below what the budgets of this "
       "operand need, 64Mi"},
      {R"({"resources": {"requests": {"memory": "128Mi"}}})",
       "spec.operands.shard.resources: the memory limit 64Mi is below the request 128Mi"},
      {R"({"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "900m"}}})",
       "spec.operands.shard.resources: the CPU limit 900m is below the request 1"},
  };
  for (const Row& row : rows) {
    ReadOperands read = Read(R"({"shard": )" + std::string(row.shard) + "}");
    EXPECT_EQ(Describe(read.problems), row.problem) << row.shard;
    EXPECT_EQ(SizeOf(read.operands.shard, kShardDefaults), OperandSize()) << row.shard;
  }
}

TEST(OperandsTest, EachOperandHasItsOwnLeastMemoryLimit) {
  for (const char* name : {"controller", "webhook", "policyWebhook", "shard"}) {
    bool small = name == std::string("webhook") || name == std::string("shard");
    ReadOperands read =
        Read(R"({")" + std::string(name) + R"(": {"resources": {"limits": {"memory": "128Mi"}}}})");
    EXPECT_EQ(read.problems.empty(), small) << name << " " << Describe(read.problems);
  }
}

}  // namespace
}  // namespace api
