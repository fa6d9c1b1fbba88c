// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/why_pod.h"

#include <optional>
#include <utility>
#include <vector>

#include "kube/types/resource.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/pod/cause.h"
#include "plugin/pod/config_lines.h"
#include "plugin/pod/node_fit.h"
#include "plugin/pod/pod_images.h"
#include "plugin/pod/policy_lines.h"
#include "plugin/pod/story.h"
#include "plugin/text/age.h"
#include "plugin/text/printable.h"
#include "plugin/text/titled.h"

namespace plugin {
namespace {

using kube::Json;

std::string Ago(const PodEvidence& evidence, kube::WallTime at) {
  return DescribeAge(std::chrono::duration_cast<std::chrono::seconds>(evidence.now - at)) + " ago";
}

std::optional<FitSummary> NodesOf(const PodEvidence& evidence) {
  if (!evidence.around->nodes) return std::nullopt;
  return Summarize(evidence.pod.spec(), *evidence.around->nodes);
}

}  // namespace

std::string WhyPod(const PodEvidence& evidence, Style style) {
  const kube::core::Pod& pod = evidence.pod;
  std::string text =
      style.Bold(Printable(kube::KeyOf(pod).ToString())) + " " + DescribeState(evidence) + "\n\n";
  for (const StoryLine& line : TellStory(evidence)) {
    std::string ago = Ago(evidence, line.at);
    ago.insert(0, kTitleWidth > ago.size() ? kTitleWidth - ago.size() : 0, ' ');
    text += ago + "  " + line.text + "\n";
  }
  text += "\n" + Say(FindImages(evidence), style) + SayRequirement(pod, style) +
          Say(DescribePreferences(pod), style) + Say(DescribeConfigs(evidence), style) +
          Say(DescribePolicies(evidence), style);
  if (std::optional<FitSummary> nodes = NodesOf(evidence)) text += Say(*nodes, style);
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
                 {"images", AsJson(FindImages(evidence))},
                 {"preferences", AsJson(DescribePreferences(evidence.pod))},
                 {"configs", AsJson(DescribeConfigs(evidence))},
                 {"policies", AsJson(DescribePolicies(evidence))},
                 {"unread", AsJson(evidence.around->unread)}};
  for (const StoryLine& line : TellStory(evidence)) {
    Json told = {{"at", kube::FormatTime(line.at)}, {"text", line.text}};
    answer["story"].push_back(std::move(told));
  }
  if (std::optional<FitSummary> nodes = NodesOf(evidence)) answer["nodes"] = AsJson(*nodes);
  Cause cause = FindCause(evidence);
  if (!cause.name.empty()) answer["cause"] = AsJson(cause);
  return answer;
}

}  // namespace plugin
