// SPDX-License-Identifier: Apache-2.0
// CelRule: preferences for the pods that an expression selects, a part of a PodPlacementConfig.
//
// The API server evaluates the expression: when a pod is created, in a matchCondition of the
// shard's webhook, and later when a controller asks (QuestionOf). The programs of this product
// evaluate no expression.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "api/fields.h"
#include "api/platform.h"

namespace api {

// With this number of rules, the API server never cuts the answer to a question: it bounds the
// warnings of a response to 4096 characters.
inline constexpr size_t kMaxCelRules = 8;
inline constexpr size_t kMaxCelExpression = 1024;

struct CelRule {
  std::string name;        // unique in its config
  std::string expression;  // CEL, over `object`: the pod
  std::vector<Platform> platforms;

  bool operator==(const CelRule&) const = default;
  static void Fields(auto& rule, auto& field) {
    field("name", rule.name, DnsLabel{});
    field("expression", rule.expression, MaxSize{kMaxCelExpression});
    field("platforms", rule.platforms,
          Items{.min = 1, .max = kMaxPlatforms, .unique = "architecture"}, kRequired);
  }
};

}  // namespace api
