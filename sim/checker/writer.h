// SPDX-License-Identifier: Apache-2.0
// Writer: which program made a commit, by its ServiceAccount. Rules about what the product does
// apply to its programs alone: what others write is not blamed on it.
#pragma once

#include <string>
#include <string_view>

#include "sim/checker/facts.h"

namespace sim::checker {

enum class Program {
  kOther,
  kOperator,
  kClusterController,
  kClusterWebhook,
  kPolicyWebhook,
  kShard,
  kShardWebhook,
};

struct Writer {
  Program program = Program::kOther;
  // The namespace of the ServiceAccount.
  std::string ns;

  bool IsOurs() const { return program != Program::kOther; }
  bool Is(Program other) const { return program == other; }
  // "the shard of shop"
  std::string Describe() const;
};

Writer WriterOf(std::string_view user, const Facts& facts);

}  // namespace sim::checker
