// SPDX-License-Identifier: Apache-2.0
#include "plugin/workload/why_workload.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "kube/base/join.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/pod/cause.h"
#include "plugin/text/titled.h"
#include "plugin/workload/creation_cause.h"

namespace plugin {
namespace {

using kube::Json;

constexpr size_t kPodsShown = 4;

struct Group {
  Cause cause;  // of the first pod
  std::vector<std::string> pods;
};

struct Summary {
  size_t running = 0;
  // By the name of the cause; "" for pods with which nothing is wrong.
  std::map<std::string, Group> groups;
  std::optional<Cause> creation;
};

Summary Summarize(const WorkloadEvidence& evidence) {
  Summary summary;
  for (const PodEvidence& pod : evidence.pods) {
    const std::string& phase = pod.pod.status().phase();
    if (phase == "Running" || phase == "Succeeded") ++summary.running;
    Cause cause = FindCause(pod);
    Group& group = summary.groups[cause.name];
    if (group.pods.empty()) group.cause = std::move(cause);
    group.pods.push_back(pod.pod.metadata().name());
  }
  summary.creation = FindCreationCause(evidence);
  return summary;
}

}  // namespace

std::string WhyWorkload(const WorkloadEvidence& evidence, Style style) {
  const Summary summary = Summarize(evidence);
  std::string text = style.Bold(evidence.kind + " " + evidence.ns + "/" + evidence.name) + " has " +
                     std::to_string(evidence.pods.size());
  if (evidence.wanted >= 0) text += " of " + std::to_string(evidence.wanted);
  text += " pods, of which " + std::to_string(summary.running) + " run\n";
  if (summary.creation)
    text += "\n" + Titled("missing", "pods", style) + Say(*summary.creation, style);
  for (const auto& [name, group] : summary.groups) {
    if (name.empty()) continue;
    text += "\n" +
            Titled(std::to_string(group.pods.size()) + " pods", kube::Join(group.pods, kPodsShown),
                   style) +
            Say(group.cause, style);
  }
  auto fine = summary.groups.find("");
  if (fine != summary.groups.end()) {
    text += "\n" + Titled(std::to_string(fine->second.pods.size()) + " pods",
                          kube::Join(fine->second.pods, kPodsShown) +
                              ": nothing is wrong that could be seen",
                          style);
  }
  if (!evidence.around->unread.empty()) text += "\n" + Say(evidence.around->unread, style);
  return text;
}

Json WhyWorkloadAsJson(const WorkloadEvidence& evidence) {
  const Summary summary = Summarize(evidence);
  Json answer = {{"kind", evidence.kind},
                 {"namespace", evidence.ns},
                 {"name", evidence.name},
                 {"pods", evidence.pods.size()},
                 {"running", summary.running},
                 {"groups", Json::array()},
                 {"unread", AsJson(evidence.around->unread)}};
  if (evidence.wanted >= 0) answer["wanted"] = evidence.wanted;
  if (summary.creation) answer["creation"] = AsJson(*summary.creation);
  for (const auto& [name, group] : summary.groups) {
    Json part = {{"pods", group.pods}};
    if (!name.empty()) part["cause"] = AsJson(group.cause);
    answer["groups"].push_back(std::move(part));
  }
  return answer;
}

}  // namespace plugin
