// SPDX-License-Identifier: Apache-2.0
// LeftOutRules: rules of PodPlacementConfigs (api/cel_rule.h) that are not applied, and why.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "api/field_error.h"

namespace operator_ {

// The left-out rules of one config, by their index in spec.celRules.
using LeftOutRules = std::map<size_t, api::FieldError>;

// The configs of one namespace that have such rules, by their names.
using LeftOutRulesOf = std::map<std::string, LeftOutRules>;

inline bool IsLeftOut(const LeftOutRulesOf& left_out, const std::string& config, size_t rule) {
  auto found = left_out.find(config);
  return found != left_out.end() && found->second.contains(rule);
}

inline api::FieldErrors ErrorsOf(const LeftOutRules& left_out) {
  api::FieldErrors errors;
  for (const auto& [index, error] : left_out) errors.push_back(error);
  return errors;
}

}  // namespace operator_
