// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/answer_parts.h"

#include <utility>

#include "api/names.h"
#include "image-facts/image_fact.h"
#include "kube/base/join.h"
#include "plugin/text/titled.h"

namespace plugin {
namespace {

using kube::Json;

constexpr size_t kNodesShown = 4;

std::string PlatformsOf(const PodImage& image) {
  return image.platforms == nullptr ? "" : image_facts::PlatformsToText(*image.platforms);
}

}  // namespace

std::string Say(const Cause& cause, Style style) {
  return Titled("why", cause.why, style) +
         (cause.next.empty() ? "" : Titled("next", cause.next, style));
}

Json AsJson(const Cause& cause) {
  return {{"name", cause.name}, {"why", cause.why}, {"next", cause.next}};
}

std::string Say(const std::vector<Unread>& unread, Style style) {
  std::string text;
  for (const Unread& part : unread) text += Titled("not read", part.what + ": " + part.why, style);
  return text;
}

Json AsJson(const std::vector<Unread>& unread) {
  Json parts = Json::array();
  for (const Unread& part : unread) {
    Json named = {{"what", part.what}, {"why", part.why}};
    parts.push_back(std::move(named));
  }
  return parts;
}

std::string Say(const std::vector<PodImage>& images, Style style) {
  std::string text;
  for (const PodImage& image : images) {
    const std::string platforms = PlatformsOf(image);
    text += Titled(
        "image",
        image.image + ": " + (platforms.empty() ? "not known" : platforms) + "; " + image.source,
        style);
    if (!image.finding.empty()) text += Titled("", image.finding, style);
  }
  return text;
}

Json AsJson(const std::vector<PodImage>& images) {
  Json parts = Json::array();
  for (const PodImage& image : images) {
    Json one = {
        {"image", image.image}, {"platforms", PlatformsOf(image)}, {"source", image.source}};
    if (!image.finding.empty()) one["finding"] = image.finding;
    parts.push_back(std::move(one));
  }
  return parts;
}

std::string SayRequirement(const kube::core::Pod& pod, Style style) {
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
  return required.empty() ? "" : Titled("requires", kube::Join(required), style);
}

std::string Say(const std::vector<PreferenceLine>& preferences, Style style) {
  std::string text;
  for (const PreferenceLine& line : preferences) {
    std::string preferred = line.architecture + " " + std::to_string(line.weight) + ": " +
                            (line.lost_to.empty() ? "by " : "not by ") + line.source;
    if (!line.lost_to.empty()) preferred += ", but by " + line.lost_to;
    text += Titled("prefers", preferred, style);
  }
  return text;
}

Json AsJson(const std::vector<PreferenceLine>& preferences) {
  Json parts = Json::array();
  for (const PreferenceLine& line : preferences) {
    Json one = {{"architecture", line.architecture},
                {"weight", line.weight},
                {"source", line.source},
                {"lostTo", line.lost_to}};
    parts.push_back(std::move(one));
  }
  return parts;
}

std::string Say(const std::vector<ConfigLine>& configs, Style style) {
  std::string text;
  for (const ConfigLine& line : configs)
    text += Titled("config",
                   line.name + " (priority " + std::to_string(line.priority) + "): " + line.text,
                   style);
  return text;
}

Json AsJson(const std::vector<ConfigLine>& configs) {
  Json parts = Json::array();
  for (const ConfigLine& line : configs) {
    Json one = {{"name", line.name},
                {"priority", line.priority},
                {"selects", line.selects},
                {"why", line.text}};
    parts.push_back(std::move(one));
  }
  return parts;
}

std::string Say(const std::vector<PolicyLine>& policies, Style style) {
  std::string text;
  for (const PolicyLine& line : policies) {
    std::string said = line.name + (line.selects ? ": it selects the pod" : "");
    if (!line.text.empty()) said += (line.selects ? "; " : ": ") + line.text;
    text += Titled("policy", said, style);
  }
  return text;
}

Json AsJson(const std::vector<PolicyLine>& policies) {
  Json parts = Json::array();
  for (const PolicyLine& line : policies) {
    Json one = {{"name", line.name}, {"selects", line.selects}, {"why", line.text}};
    parts.push_back(std::move(one));
  }
  return parts;
}

std::string Say(const FitSummary& nodes, Style style) {
  size_t all = nodes.fitting;
  std::string others;
  for (const auto& [misfit, reasons] : nodes.others) {
    for (const auto& [why, names] : reasons) {
      all += names.size();
      others += Titled("", kube::Join(names, kNodesShown) + ": " + why);
    }
  }
  return Titled("nodes", std::to_string(nodes.fitting) + " of " + std::to_string(all) + " fit",
                style) +
         others;
}

Json AsJson(const FitSummary& nodes) {
  Json json = {{"fitting", nodes.fitting}, {"others", Json::object()}};
  for (const auto& [misfit, reasons] : nodes.others) {
    for (const auto& [why, names] : reasons) json["others"][why] = names;
  }
  return json;
}

}  // namespace plugin
