// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/why_pod.h"

#include <utility>
#include <vector>

#include "api/names.h"
#include "kube/base/join.h"
#include "kube/types/resource.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/pod/cause.h"
#include "plugin/pod/config_lines.h"
#include "plugin/pod/image_lines.h"
#include "plugin/pod/node_fit.h"
#include "plugin/pod/story.h"
#include "plugin/text/age.h"
#include "plugin/text/titled.h"

namespace plugin {
namespace {

using kube::Json;

constexpr size_t kNodesShown = 4;

std::string Ago(const PodEvidence& evidence, kube::WallTime at) {
  return DescribeAge(std::chrono::duration_cast<std::chrono::seconds>(evidence.now - at)) + " ago";
}

std::string DescribeNodes(const PodEvidence& evidence, Style style) {
  if (!evidence.around->nodes) return "";
  FitSummary fit = Summarize(evidence.pod.spec(), *evidence.around->nodes);
  std::string text = Titled("nodes",
                            std::to_string(fit.fitting) + " of " +
                                std::to_string(evidence.around->nodes->size()) + " fit",
                            style);
  for (const auto& [why, nodes] : fit.why)
    text += Titled("", kube::Join(nodes, kNodesShown) + ": " + why);
  return text;
}

std::string DescribeImages(const PodEvidence& evidence, Style style) {
  std::string text;
  for (const ImageLine& line : DescribeImages(evidence)) {
    const std::string what = line.platforms.empty() ? "not known" : line.platforms;
    text += Titled("image", line.image + ": " + what + "; " + line.source, style);
  }
  return text;
}

// What the configurations gave the pod, and what not.
std::string DescribeConfigs(const PodEvidence& evidence, Style style) {
  std::string text;
  for (const PreferenceLine& line : DescribePreferences(evidence.pod)) {
    std::string preferred = line.architecture + " " + std::to_string(line.weight) + ": " +
                            (line.lost_to.empty() ? "by " : "not by ") + line.source;
    if (!line.lost_to.empty()) preferred += ", but by " + line.lost_to;
    text += Titled("prefers", preferred, style);
  }
  for (const ConfigLine& line : DescribeConfigs(evidence))
    text += Titled("config",
                   line.name + " (priority " + std::to_string(line.priority) + "): " + line.text,
                   style);
  return text;
}

// The architectures that the pod requires.
std::string DescribePlacement(const kube::core::Pod& pod, Style style) {
  std::string text;
  std::vector<std::string> required;
  for (const auto& term : pod.spec()
                              .affinity()
                              .node_affinity()
                              .required_during_scheduling_ignored_during_execution()
                              .node_selector_terms()) {
    for (const auto& expression : term.match_expressions()) {
      if (expression.key() != api::kArchLabel) continue;
      std::vector<std::string> values(expression.values().begin(), expression.values().end());
      required.push_back(expression.operator_() + " " + kube::Join(values));
    }
  }
  if (!required.empty()) text += Titled("requires", kube::Join(required), style);
  return text;
}

}  // namespace

std::string WhyPod(const PodEvidence& evidence, Style style) {
  const kube::core::Pod& pod = evidence.pod;
  std::string text =
      style.Bold(kube::KeyOf(pod).ToString()) + " " + DescribeState(evidence) + "\n\n";
  for (const StoryLine& line : TellStory(evidence)) {
    std::string ago = Ago(evidence, line.at);
    ago.insert(0, kTitleWidth > ago.size() ? kTitleWidth - ago.size() : 0, ' ');
    text += ago + "  " + line.text + "\n";
  }
  text += "\n" + DescribeImages(evidence, style) + DescribePlacement(pod, style) +
          DescribeConfigs(evidence, style) + DescribeNodes(evidence, style);
  text += Say(evidence.around->unread, style);
  Cause cause = FindCause(evidence);
  if (cause.name.empty()) return text + Titled("why", "nothing is wrong that could be seen", style);
  return text + Say(cause, style);
}

Json WhyPodAsJson(const PodEvidence& evidence) {
  Json answer = {{"namespace", evidence.pod.metadata().namespace_()},
                 {"name", evidence.pod.metadata().name()},
                 {"state", DescribeState(evidence)},
                 {"story", Json::array()},
                 {"images", Json::array()},
                 {"preferences", Json::array()},
                 {"configs", Json::array()},
                 {"unread", AsJson(evidence.around->unread)}};
  for (const StoryLine& line : TellStory(evidence)) {
    Json told = {{"at", kube::FormatTime(line.at)}, {"text", line.text}};
    answer["story"].push_back(std::move(told));
  }
  for (const ImageLine& line : DescribeImages(evidence)) {
    Json image = {{"image", line.image}, {"platforms", line.platforms}, {"source", line.source}};
    answer["images"].push_back(std::move(image));
  }
  for (const PreferenceLine& line : DescribePreferences(evidence.pod)) {
    Json preference = {{"architecture", line.architecture},
                       {"weight", line.weight},
                       {"source", line.source},
                       {"lostTo", line.lost_to}};
    answer["preferences"].push_back(std::move(preference));
  }
  for (const ConfigLine& line : DescribeConfigs(evidence)) {
    Json config = {{"name", line.name},
                   {"priority", line.priority},
                   {"selects", line.selects},
                   {"why", line.text}};
    answer["configs"].push_back(std::move(config));
  }
  if (evidence.around->nodes) {
    FitSummary fit = Summarize(evidence.pod.spec(), *evidence.around->nodes);
    answer["nodes"] = {{"fitting", fit.fitting}, {"others", fit.why}};
  }
  Cause cause = FindCause(evidence);
  if (!cause.name.empty()) answer["cause"] = AsJson(cause);
  return answer;
}

}  // namespace plugin
