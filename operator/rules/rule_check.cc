// SPDX-License-Identifier: Apache-2.0
#include "operator/rules/rule_check.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "api/names.h"
#include "kube/base/utf8.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "operator/rules/restricted.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Json;
using kube::Result;

// The webhook that asks has ten seconds, also for the announcement of the config.
constexpr std::chrono::seconds kCheckWithin{3};
constexpr size_t kMaxWords = 500;
constexpr std::string_view kConditionField = "webhooks[0].matchConditions[";
constexpr char kOtherVariables[] =
    "must use only the variable object, not request, oldObject, namespaceObject or authorizer";

std::string FieldOf(size_t rule) {
  return "spec.celRules[" + std::to_string(rule) + "].expression";
}

// Rule N has the conditions 2N, alone, and 2N + 1, restricted.
Json ConfigurationToCheck(const std::vector<api::CelRule>& rules) {
  Json conditions = Json::array();
  for (size_t i = 0; i < rules.size(); ++i) {
    std::string number = std::to_string(i);
    conditions.push_back({{"name", "alone-" + number}, {"expression", rules[i].expression}});
    conditions.push_back(
        {{"name", "restricted-" + number}, {"expression", Restricted(rules[i].expression)}});
  }
  Json webhook = {{"name", "rule-check." + std::string(api::kGroup)},
                  {"clientConfig", {{"url", "https://rule-check.invalid/"}}},
                  {"matchConditions", std::move(conditions)},
                  {"sideEffects", "None"},
                  {"admissionReviewVersions", Json::array({"v1"})}};
  return {{"apiVersion", kube::kMutatingWebhookConfigurations.ApiVersion()},
          {"kind", std::string(kube::kMutatingWebhookConfigurations.kind)},
          {"metadata", {{"generateName", "pod-placement-rule-check-"}}},
          {"webhooks", Json::array({std::move(webhook)})}};
}

// The N of "webhooks[0].matchConditions[N].expression".
std::optional<size_t> ConditionOf(std::string_view field) {
  if (!field.starts_with(kConditionField)) return std::nullopt;
  field.remove_prefix(kConditionField.size());
  size_t condition = 0;
  auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), condition);
  if (error != std::errc() || !std::string_view(end, field.data() + field.size()).starts_with(']'))
    return std::nullopt;
  return condition;
}

// What `message`, about all conditions, says about one: the causes of an error repeat the
// expression first, and are cut (kube::Error::kMaxCauseBytes).
std::string WordsAbout(std::string_view message, size_t condition) {
  std::string field = std::string(kConditionField) + std::to_string(condition) + "].expression: ";
  size_t begin = message.find(field);
  if (begin == std::string_view::npos) return "the API server refuses it";
  // "...is invalid: FIELD: WORDS", or "...is invalid: [FIELD: WORDS, FIELD: WORDS]"
  bool list = message.find(": [" + std::string(kConditionField)) != std::string_view::npos;
  std::string_view words = message.substr(begin + field.size());
  if (list && words.ends_with(']')) words.remove_suffix(1);
  constexpr std::string_view kQuoted = "Invalid value: \"";
  if (words.starts_with(kQuoted)) {
    size_t end = kQuoted.size();
    while (end < words.size() && words[end] != '"') end += words[end] == '\\' ? 2 : 1;
    words.remove_prefix(std::min(words.size(), end + 1));
    if (words.starts_with(": ")) words.remove_prefix(2);
  }
  words = words.substr(0, words.find(", " + std::string(kConditionField)));
  return std::string(kube::CutUtf8(words, kMaxWords));
}

// nullopt if `error` is not about expressions alone.
std::optional<LeftOutRules> RefusedBy(const kube::Error& error, size_t rules) {
  if (error.code() != kube::Code::kInvalid || error.causes().empty()) return std::nullopt;
  LeftOutRules refused;
  for (const kube::Cause& cause : error.causes()) {
    std::optional<size_t> condition = ConditionOf(cause.field);
    if (!condition || *condition >= 2 * rules) return std::nullopt;
    size_t rule = *condition / 2;
    std::string words = WordsAbout(error.message(), *condition);
    if (*condition % 2 == 0) {
      refused[rule] = {FieldOf(rule), std::move(words)};
    } else {
      refused.try_emplace(
          rule, api::FieldError{FieldOf(rule), std::string(kOtherVariables) + ": " + words});
    }
  }
  return refused;
}

}  // namespace

api::FieldError TooManyRules(std::string field) {
  return {std::move(field), "the PodPlacementConfigs of a namespace may have " +
                                std::to_string(kMaxNamespaceRules) + " rules together"};
}

Async<LeftOutRules> CheckRules(kube::Client& client, std::vector<api::CelRule> rules) {
  LeftOutRules left_out;
  if (rules.empty()) co_return left_out;
  kube::ApiRequest request{.method = kube::Method::kPost,
                           .target = kube::kMutatingWebhookConfigurations.Path(),
                           .content_type = std::string(kube::kJson),
                           .body = kube::DumpJson(ConfigurationToCheck(rules)),
                           .timeout = kCheckWithin};
  kube::AddQuery(request.target, "dryRun", "All");
  Result<> accepted = co_await kube::Send(client, std::move(request));
  if (!accepted) {
    std::optional<LeftOutRules> refused = RefusedBy(accepted.error(), rules.size());
    if (!refused) co_return accepted.error().Prefix("check the expressions of rules");
    left_out = std::move(*refused);
  }
  // `authorizer.requestResource` is its own variable, which a variable `authorizer` does not hide.
  for (size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].expression.find("requestResource") != std::string::npos)
      left_out.try_emplace(i, api::FieldError{FieldOf(i), kOtherVariables});
  }
  co_return left_out;
}

Async<LeftOutRulesOf> RuleChecks::LeftOut(const std::string& ns,
                                          const api::PodPlacementConfigs& in_force) {
  LeftOutRulesOf left_out;
  std::map<std::string, Checked> earlier = std::exchange(checked_[ns], {});
  size_t applied = 0;
  for (const api::PodPlacementConfig* config : in_force) {
    if (config->Rules().empty()) continue;
    const std::string& uid = config->metadata().uid();
    Checked& checked = checked_[ns][uid] = std::move(earlier[uid]);
    if (checked.generation != config->metadata().generation()) {
      std::vector<api::CelRule> rules(config->Rules().begin(), config->Rules().end());
      Result<LeftOutRules> refused = co_await CheckRules(client_, std::move(rules));
      if (!refused) co_return refused.error();
      checked = {config->metadata().generation(), std::move(*refused)};
    }
    LeftOutRules unused = checked.refused;
    for (size_t i = 0; i < config->Rules().size(); ++i) {
      if (unused.contains(i) || ++applied <= kMaxNamespaceRules) continue;
      unused[i] = TooManyRules("spec.celRules[" + std::to_string(i) + "]");
    }
    if (!unused.empty()) left_out[config->metadata().name()] = std::move(unused);
  }
  if (checked_[ns].empty()) checked_.erase(ns);
  co_return left_out;
}

}  // namespace operator_
