// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/config_lines.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "api/label_selector.h"
#include "api/validation.h"
#include "kube/base/join.h"
#include "placement/local_configs.h"
#include "placement/matching_configs.h"
#include "placement/preference.h"
#include "placement/selector.h"

namespace plugin {
namespace {

constexpr size_t kRulesShown = 8;

std::string DescribeSource(const std::string& source) {
  if (source == placement::kClusterSource) return source;
  const std::string prefix = placement::SourceOf("");
  if (!source.starts_with(prefix)) return source;
  const std::string name = source.substr(prefix.size());
  const size_t slash = name.find('/');
  std::string text = "PodPlacementConfig " + name.substr(0, slash);
  if (slash != std::string::npos) text += ", rule " + name.substr(slash + 1);
  return text;
}

// Of the pod's record, which the webhook has made when the pod was created.
std::vector<std::string> RulesOf(const kube::core::Pod& pod, const std::string& config) {
  std::vector<std::string> rules;
  for (const placement::LocalConfig& entry : placement::LocalConfigsOf(pod)) {
    if (entry.config == config && !entry.rule.empty()) rules.emplace_back(entry.rule);
  }
  return rules;
}

std::string DescribeSelected(const kube::core::Pod& pod, const api::PodPlacementConfig& config) {
  std::vector<std::string> rules = RulesOf(pod, config.metadata().name());
  if (!rules.empty())
    return (rules.size() == 1 ? "its rule " : "its rules ") + kube::Join(rules, kRulesShown) +
           (rules.size() == 1 ? " matches" : " match");
  const bool is_stored = !pod.metadata().uid().empty();
  if (!config.Rules().empty() && !is_stored)
    return "it selects the pod; its rules are evaluated when the pod is created";
  if (!config.Rules().empty() && config.Preferences().empty())
    return "none of its rules was recorded on the pod";
  if (!config.MayChangePods()) return "it has nothing for pods";
  return "it selects the pod";
}

std::string DescribeUnselected(const kube::core::Pod& pod, const api::PodPlacementConfig& config,
                               const api::PodPlacementConfigs& all) {
  if (const api::PodPlacementConfig* holder = api::PriorityHolder(config, all); holder != nullptr)
    return holder->metadata().name() + " has the same priority and is in force";
  if (!config.spec.label_selector) return "it is not in force";
  kube::Result<bool> matches =
      placement::Matches(*config.spec.label_selector, pod.metadata().labels());
  if (!matches) return "its selector is not valid: " + matches.error().message();
  if (*matches) return "it is not in force";
  return "it selects " + DescribeSelector(*config.spec.label_selector);
}

}  // namespace

std::string DescribeSelector(const kube::meta::LabelSelector& selector) {
  const std::string text = api::LabelSelectorToText(selector);
  return text.empty() ? "all pods" : text;
}

std::vector<PreferenceLine> DescribePreferences(const kube::core::Pod& pod) {
  const std::vector<placement::RecordedPreference> recorded = placement::RecordedPreferences(pod);
  std::vector<PreferenceLine> lines;
  for (const placement::RecordedPreference& entry : recorded) {
    PreferenceLine line{entry.architecture, entry.weight, DescribeSource(entry.source), ""};
    if (entry.skipped) {
      auto winner = std::find_if(recorded.begin(), recorded.end(), [&](const auto& other) {
        return !other.skipped && other.architecture == entry.architecture;
      });
      line.lost_to =
          winner == recorded.end() ? "the pod's own preferences" : DescribeSource(winner->source);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<ConfigLine> DescribeConfigs(const PodEvidence& evidence) {
  std::set<std::string> selecting;
  for (const placement::MatchingConfig& one :
       placement::ConfigsFor(evidence.pod, evidence.around->configs))
    selecting.insert(one.config->metadata().name());
  api::PodPlacementConfigs all;
  for (const api::PodPlacementConfig& config : evidence.around->configs) all.push_back(&config);
  std::vector<ConfigLine> lines;
  for (const api::PodPlacementConfig& config : evidence.around->configs) {
    ConfigLine line{.name = config.metadata().name(),
                    .priority = config.spec.priority,
                    .selects = selecting.contains(config.metadata().name())};
    line.text = line.selects ? DescribeSelected(evidence.pod, config)
                             : DescribeUnselected(evidence.pod, config, all);
    if (!config.problems.empty())
      line.text += "; it is not valid: " + api::Describe(config.problems);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace plugin
