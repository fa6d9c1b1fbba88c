// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/why_pod.h"

#include <utility>
#include <vector>

#include "api/names.h"
#include "kube/base/join.h"
#include "kube/types/resource.h"
#include "placement/pod_metadata.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/pod/cause.h"
#include "plugin/pod/node_fit.h"
#include "plugin/pod/story.h"
#include "plugin/text/titled.h"

namespace plugin {
namespace {

using kube::Json;

constexpr size_t kNodesShown = 4;

std::string Ago(const PodEvidence& evidence, kube::WallTime at) {
  return DescribeAge(std::chrono::duration_cast<std::chrono::seconds>(evidence.now - at)) + " ago";
}

std::string DescribeNodes(const PodEvidence& evidence) {
  if (!evidence.around->nodes) return "";
  FitSummary fit = Summarize(evidence.pod.spec(), *evidence.around->nodes);
  std::string text = Titled("nodes", std::to_string(fit.fitting) + " of " +
                                         std::to_string(evidence.around->nodes->size()) + " fit");
  for (const auto& [why, nodes] : fit.why)
    text += Titled("", kube::Join(nodes, kNodesShown) + ": " + why);
  return text;
}

// The architectures that the operator requires, and where the preferences come from.
std::string DescribePlacement(const kube::core::Pod& pod) {
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
  if (!required.empty()) text += Titled("requires", kube::Join(required));
  std::string_view preferred =
      placement::AnnotationOf(pod, api::kPreferredAffinitySourcesAnnotation);
  if (!preferred.empty()) text += Titled("prefers", std::string(preferred));
  return text;
}

}  // namespace

std::string WhyPod(const PodEvidence& evidence) {
  const kube::core::Pod& pod = evidence.pod;
  std::string text = kube::KeyOf(pod).ToString() + " " + DescribeState(evidence) + "\n\n";
  for (const StoryLine& line : TellStory(evidence)) {
    std::string ago = Ago(evidence, line.at);
    ago.insert(0, kTitleWidth > ago.size() ? kTitleWidth - ago.size() : 0, ' ');
    text += ago + "  " + line.text + "\n";
  }
  text += "\n" + DescribePlacement(pod) + DescribeNodes(evidence);
  text += Say(evidence.around->unread);
  Cause cause = FindCause(evidence);
  if (cause.name.empty()) return text + Titled("why", "nothing is wrong that could be seen");
  return text + Say(cause);
}

Json WhyPodAsJson(const PodEvidence& evidence) {
  Json answer = {{"namespace", evidence.pod.metadata().namespace_()},
                 {"name", evidence.pod.metadata().name()},
                 {"state", DescribeState(evidence)},
                 {"story", Json::array()},
                 {"unread", AsJson(evidence.around->unread)}};
  for (const StoryLine& line : TellStory(evidence)) {
    Json told = {{"at", kube::FormatTime(line.at)}, {"text", line.text}};
    answer["story"].push_back(std::move(told));
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
