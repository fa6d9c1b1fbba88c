// SPDX-License-Identifier: Apache-2.0
#include "plugin/simulate/simulation_text.h"

#include <utility>

#include "kube/base/join.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/text/table.h"
#include "plugin/text/titled.h"

namespace plugin {
namespace {

using kube::Json;

constexpr size_t kNodesShown = 4;

std::string OrNothing(const std::string& text) { return text.empty() ? "nothing" : text; }

}  // namespace

std::string Say(const Outcome& outcome, Style style) {
  std::string text = style.Bold(Printable(outcome.name)) + "\n";
  text += Say(outcome.images, style);
  if (!outcome.gates.empty()) text += Titled("gates", kube::Join(outcome.gates), style);
  text += SayRequirement(outcome.pod, style) + Say(outcome.preferences, style) +
          Say(outcome.configs, style);
  for (const placement::PodEvent& event : outcome.events)
    text += Titled("event", std::string(event.reason) + ": " + event.message, style);
  if (outcome.nodes) text += Say(*outcome.nodes, style);
  if (!outcome.unsupported_nodes.empty())
    text += Titled("crashes", "on " + kube::Join(outcome.unsupported_nodes, kNodesShown), style);
  if (!outcome.cause.name.empty()) text += Say(outcome.cause, style);
  return text +
         Titled("result", outcome.would_run ? style.Good("would run") : "would not run", style);
}

Json AsJson(const Outcome& outcome) {
  Json json = {{"name", outcome.name},
               {"images", AsJson(outcome.images)},
               {"gates", outcome.gates},
               {"preferences", AsJson(outcome.preferences)},
               {"configs", AsJson(outcome.configs)},
               {"events", Json::array()},
               {"unsupportedNodes", outcome.unsupported_nodes},
               {"wouldRun", outcome.would_run}};
  for (const placement::PodEvent& event : outcome.events) {
    Json one = {{"reason", event.reason}, {"message", event.message}};
    json["events"].push_back(std::move(one));
  }
  if (outcome.nodes) json["nodes"] = AsJson(*outcome.nodes);
  if (!outcome.cause.name.empty()) json["cause"] = AsJson(outcome.cause);
  return json;
}

std::string Say(const ConfigOutcome& outcome, Style style) {
  const size_t all = outcome.selected.size() + outcome.others.size();
  std::string text = style.Bold(Printable(outcome.name)) + " would select " +
                     std::to_string(outcome.selected.size()) + " of " + std::to_string(all) +
                     " workloads\n";
  if (!outcome.problem.empty()) text += Titled("refused", outcome.problem, style);
  if (!outcome.selected.empty()) {
    Table table({"WORKLOAD", "NEW PODS PREFER NOW", "WOULD PREFER"});
    for (const SelectedWorkload& one : outcome.selected)
      table.Add({one.name, OrNothing(one.before), OrNothing(one.after)});
    text += "\n" + table.ToText();
  }
  if (!outcome.others.empty()) text += "\n";
  for (const std::string& other : outcome.others) text += Titled("not", other, style);
  return text;
}

Json AsJson(const ConfigOutcome& outcome) {
  Json json = {{"name", outcome.name},
               {"problem", outcome.problem},
               {"selected", Json::array()},
               {"others", outcome.others}};
  for (const SelectedWorkload& one : outcome.selected) {
    Json selected = {{"name", one.name}, {"before", one.before}, {"after", one.after}};
    json["selected"].push_back(std::move(selected));
  }
  return json;
}

}  // namespace plugin
