// SPDX-License-Identifier: Apache-2.0
#include "plugin/config/why_config.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/names.h"
#include "kube/base/join.h"
#include "placement/pod_metadata.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/pod/condition_problem.h"
#include "plugin/pod/config_lines.h"
#include "plugin/pod/never_gated.h"
#include "plugin/text/titled.h"

namespace plugin {
namespace {

using kube::Json;
using kube::core::Pod;

constexpr size_t kPodsShown = 4;

const api::PodPlacementConfig* FindConfig(const NamespaceEvidence& around,
                                          const std::string& name) {
  for (const api::PodPlacementConfig& config : around.configs) {
    if (config.metadata().name() == name) return &config;
  }
  return nullptr;
}

// What the pod has of the config, or who has won; "" for nothing.
std::string PreferencesOf(const Pod& pod, const std::string& config, bool& caught) {
  std::string has, lost;
  for (const PreferenceLine& line : DescribePreferences(pod)) {
    const std::string source = "PodPlacementConfig " + config;
    if (line.source != source && !line.source.starts_with(source + ",")) continue;
    const std::string preference = line.architecture + " " + std::to_string(line.weight);
    if (line.lost_to.empty()) {
      has += (has.empty() ? "" : ", ") + preference;
    } else {
      lost += (lost.empty() ? "" : ", ") + preference + " to " + line.lost_to;
    }
  }
  caught = !has.empty();
  std::string text;
  if (!has.empty()) text = "prefer " + has;
  if (!lost.empty()) text += (text.empty() ? "lose " : "; lose ") + lost;
  return text;
}

// Of a pod that the config selects, and that has nothing of it.
std::string WhyNothing(const Pod& pod, const api::PodPlacementConfig& config,
                       const NamespaceEvidence& around) {
  if (std::optional<Cause> never = WhyNeverGated(pod, around)) return never->why;
  if (pod.metadata().creation_timestamp().seconds() <
      config.metadata().creation_timestamp().seconds())
    return "are older than the config: create them again";
  if (placement::AnnotationOf(pod, api::kLocalTolerationsAnnotation) == config.metadata().name())
    return "have its tolerations";
  if (!config.MayPrefer()) return "are selected, and it has no preferences";
  if (placement::LabelOf(pod, api::kLocalGateLabel) == api::kGated) return "wait for the shard";
  return "are selected, and have nothing of it: they were not gated when they were created, or it "
         "was changed since";
}

}  // namespace

PodGroups::PodGroups(std::string config, std::shared_ptr<NamespaceEvidence> around)
    : name_(std::move(config)), around_(std::move(around)), config_(FindConfig(*around_, name_)) {}

void PodGroups::Add(const Pod& pod) {
  ++pods_;
  if (config_ == nullptr) return;
  bool caught = false;
  std::string what = PreferencesOf(pod, name_, caught);
  if (what.empty()) {
    PodEvidence one{.now = {}, .pod = pod, .around = around_};
    std::vector<ConfigLine> lines = DescribeConfigs(one);
    auto line = std::find_if(lines.begin(), lines.end(),
                             [&](const ConfigLine& other) { return other.name == name_; });
    what = line == lines.end() || line->selects ? WhyNothing(pod, *config_, *around_)
                                                : "are not selected: " + line->text;
  }
  if (!groups_.contains(what) && groups_.size() >= kMaxGroups) what = "are in none of these groups";
  PodGroup& group = groups_[what];
  group.what = what;
  group.caught |= caught;
  ++group.count;
  if (group.pods.size() < kMaxNames) group.pods.push_back(pod.metadata().name());
}

std::vector<PodGroup> PodGroups::Sorted() const {
  std::vector<PodGroup> sorted;
  for (const auto& [what, group] : groups_) sorted.push_back(group);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PodGroup& a, const PodGroup& b) { return a.caught > b.caught; });
  return sorted;
}

std::string WhyConfig(const ConfigEvidence& evidence, Style style) {
  std::vector<PodGroup> groups = evidence.pods.Sorted();
  size_t caught = 0;
  for (const PodGroup& group : groups) caught += group.caught ? group.count : 0;
  std::string text = style.Bold("PodPlacementConfig " + evidence.ns + "/" + evidence.name) +
                     " has given something to " + std::to_string(caught) + " of " +
                     std::to_string(evidence.pods.pods()) + " pods\n\n";
  if (const api::PodPlacementConfig* config = FindConfig(*evidence.around, evidence.name)) {
    const std::string selects =
        config->spec.label_selector ? DescribeSelector(*config->spec.label_selector) : "all pods";
    text += Titled("selects", selects, style);
    if (!config->status.gated_by.empty())
      text += Titled("gated by", config->status.gated_by, style);
    if (!config->problems.empty())
      text += Titled("invalid", api::Describe(config->problems), style);
    for (const api::Condition& condition : config->status.conditions) {
      const std::string problem = ConditionProblem(condition);
      if (!problem.empty()) text += Titled("problem", problem, style);
    }
  }
  for (const PodGroup& group : groups)
    text += Titled(std::to_string(group.count) + " pods",
                   group.what + ": " + kube::Join(group.pods, kPodsShown), style);
  return text + Say(evidence.around->unread, style);
}

Json WhyConfigAsJson(const ConfigEvidence& evidence) {
  Json json = {{"namespace", evidence.ns},
               {"name", evidence.name},
               {"pods", evidence.pods.pods()},
               {"groups", Json::array()},
               {"unread", AsJson(evidence.around->unread)}};
  for (const PodGroup& group : evidence.pods.Sorted()) {
    Json one = {{"what", group.what},
                {"caught", group.caught},
                {"count", group.count},
                {"pods", group.pods}};
    json["groups"].push_back(std::move(one));
  }
  return json;
}

}  // namespace plugin
