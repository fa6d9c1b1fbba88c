// SPDX-License-Identifier: Apache-2.0
// RuleCheck: whether the API server accepts the expressions of rules (api/cel_rule.h).
//
// It is asked by a dry run: a webhook configuration that is never stored has each expression twice
// as a matchCondition, alone and Restricted(). One that does not compile alone could leave the
// parentheses around it; one that compiles only alone uses other variables than `object`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/cel_rule.h"
#include "api/validation.h"
#include "kube/base/async.h"
#include "kube/client/client.h"
#include "operator/rules/left_out_rules.h"

namespace operator_ {

// The rules of a namespace that are applied. With as many configs as can be in force, and
// expressions of any size, the webhook configuration stays below etcd's limit of 1.5 MiB.
inline constexpr size_t kMaxNamespaceRules = 128;
// The error for more rules; `field`: the field of the config.
api::FieldError TooManyRules(std::string field);

// The rules that cannot be used, with what the API server says. One call, of at most three seconds;
// none without rules. Errors: the API server's, other than about expressions.
kube::Async<LeftOutRules> CheckRules(kube::Client& client, std::vector<api::CelRule> rules);

// The answers, kept for each generation of a config. Thread: the client's.
class RuleChecks {
 public:
  explicit RuleChecks(kube::Client& client) : client_(client) {}

  // `in_force`: the configs of `ns` in the order in which they are applied. The rules beyond
  // kMaxNamespaceRules are left out as well. Never runs twice at once for one namespace. Errors: as
  // CheckRules().
  kube::Async<LeftOutRulesOf> LeftOut(const std::string& ns,
                                      const api::PodPlacementConfigs& in_force);
  void Forget(const std::string& ns) { checked_.erase(ns); }

 private:
  struct Checked {
    std::optional<int64_t> generation;
    LeftOutRules refused;
  };

  kube::Client& client_;
  // By namespace and uid of the config.
  std::map<std::string, std::map<std::string, Checked>> checked_;
};

}  // namespace operator_
