// SPDX-License-Identifier: Apache-2.0
#include "placement/node_offers.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "api/names.h"
#include "kube/types/list_at.h"
#include "placement/term_addition.h"

namespace placement {
namespace {

using kube::Json;
using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;
using kube::core::Pod;

// nullptr for labels that are not compared.
LabelRange* RangeOf(PlatformRange& range, std::string_view label) {
  if (label == api::kArchLabel) return &range.architectures;
  if (label == api::kOsLabel) return &range.operating_systems;
  return nullptr;
}

// nullopt: no node matches the term.
std::optional<PlatformRange> InTerm(PlatformRange range, const NodeSelectorTerm& term) {
  if (term.match_expressions().empty() && term.match_fields().empty()) return std::nullopt;
  for (const NodeSelectorRequirement& expression : term.match_expressions()) {
    if (expression.key() == api::kNoSupportedArchLabel) return std::nullopt;
    LabelRange* of_label = RangeOf(range, expression.key());
    if (of_label == nullptr || expression.values_size() > static_cast<int>(kMaxLabelValues))
      continue;
    of_label->Restrict(expression.operator_(),
                       {expression.values().begin(), expression.values().end()});
  }
  if (range.architectures.IsNone() || range.operating_systems.IsNone()) return std::nullopt;
  return range;
}

std::string DescribeTerm(const PlatformRange& range) {
  std::string text = range.architectures.ToString();
  if (!range.operating_systems.IsEvery())
    text += " with the operating system " + range.operating_systems.ToString();
  return text;
}

LabelRange Labelled(const NodeOffers::Labels& labels, std::string_view key) {
  auto label = labels.find(std::string(key));
  LabelRange range;
  range.Restrict("In", {label == labels.end() ? "" : label->second});
  return range;
}

}  // namespace

bool PlatformRange::Overlaps(const PlatformRange& other) const {
  return architectures.Overlaps(other.architectures) &&
         operating_systems.Overlaps(other.operating_systems);
}

std::optional<RequiredPlatforms> RequiredPlatformsOf(const Pod& pod) {
  PlatformRange of_pod;
  for (std::string_view label : {api::kArchLabel, api::kOsLabel}) {
    auto selected = pod.spec().node_selector().find(std::string(label));
    if (selected != pod.spec().node_selector().end())
      RangeOf(of_pod, label)->Restrict("In", {selected->second});
  }
  RequiredPlatforms required;
  const auto& terms = RequiredTermsOf(pod);
  if (terms.size() > kMaxRequiredTerms) return std::nullopt;
  if (terms.empty()) required.insert(of_pod);
  for (const NodeSelectorTerm& term : terms) {
    if (std::optional<PlatformRange> range = InTerm(of_pod, term))
      required.insert(std::move(*range));
  }
  size_t values = 0;
  for (const PlatformRange& range : required) {
    if (range.architectures.IsEvery()) return std::nullopt;
    values += range.architectures.size() + range.operating_systems.size();
  }
  if (required.empty() || values > kMaxRequiredValues) return std::nullopt;
  return required;
}

std::string Describe(const RequiredPlatforms& required) {
  std::set<std::string> terms;
  for (const PlatformRange& range : required) terms.insert(DescribeTerm(range));
  std::string text;
  for (const std::string& term : terms) text += (text.empty() ? "" : "; ") + term;
  return text;
}

void NodeOffers::AddNode(const Labels& labels) {
  Add({.architectures = Labelled(labels, api::kArchLabel),
       .operating_systems = Labelled(labels, api::kOsLabel)});
}

void NodeOffers::AddNodePool(const Json& pool) {
  if (kube::Find(pool, "metadata.deletionTimestamp") != nullptr) return;
  PlatformRange range;
  const Json& labels = kube::ObjectAt(pool, "spec.template.metadata.labels");
  for (std::string_view key : {api::kArchLabel, api::kOsLabel}) {
    // The keys have dots, which are no path here.
    auto label = labels.find(std::string(key));
    if (label != labels.end() && label->is_string())
      RangeOf(range, key)->Restrict("In", {label->get<std::string>()});
  }
  for (const Json& requirement : kube::ListAt(pool, "spec.template.spec.requirements")) {
    LabelRange* of_label = RangeOf(range, kube::StringAt(requirement, "key"));
    if (of_label == nullptr) continue;
    std::string op = kube::StringAt(requirement, "operator");
    const Json& list = kube::ListAt(requirement, "values");
    bool lacks_values = op == "In" && list.empty();
    if (lacks_values || list.size() > kMaxLabelValues) continue;
    std::vector<std::string> values;
    for (const Json& value : list) {
      if (value.is_string()) values.push_back(value.get<std::string>());
    }
    if (values.size() == list.size()) of_label->Restrict(op, values);
  }
  Add(std::move(range));
}

bool NodeOffers::Fit(const RequiredPlatforms& required) const {
  if (unknown_) return true;
  return std::any_of(required.begin(), required.end(), [&](const PlatformRange& range) {
    return std::any_of(offered_.begin(), offered_.end(),
                       [&](const PlatformRange& offered) { return offered.Overlaps(range); });
  });
}

void NodeOffers::Add(PlatformRange range) {
  offered_.insert(std::move(range));
  if (offered_.size() > kMaxNodeOffers) {
    offered_.clear();
    unknown_ = true;
  }
}

}  // namespace placement
