// SPDX-License-Identifier: Apache-2.0
#include "placement/term_addition.h"

#include <algorithm>
#include <map>

#include "api/names.h"

namespace placement {
namespace {

using kube::core::NodeSelectorRequirement;
using kube::core::NodeSelectorTerm;

// The systems that these nodes may have and the images are for.
std::map<std::string, ArchitectureSet> Supported(const OperatingSystems& allowed,
                                                 const CommonPlatforms& common) {
  const std::string linux(kLinux);
  std::map<std::string, ArchitectureSet> supported;
  auto add = [&](const std::string& os) {
    ArchitectureSet names = OnlyNames(common.On(os));
    if (!names.empty() && IsOsName(os) && allowed.Allow(os)) supported.emplace(os, names);
  };
  add(linux);
  // Nodes are linux unless the user says otherwise, or no image is for linux.
  if (!supported.empty() && !allowed.AreNamed()) return supported;
  for (const auto& [os, architectures] : common.by_os) add(os);
  // Images that never run are for every system.
  if (common.every && supported.empty()) supported.emplace(linux, AllArchitectures());
  return supported;
}

}  // namespace

TermAddition AdditionFor(const OperatingSystems& allowed, const CommonPlatforms& common) {
  std::map<std::string, ArchitectureSet> supported = Supported(allowed, common);
  if (supported.empty()) return {};
  TermAddition addition;
  std::set<std::string> systems;
  for (const auto& [os, architectures] : supported) {
    systems.insert(os);
    ArchitectureSet& all = addition.architectures;
    if (systems.size() == 1) all = architectures;
    std::erase_if(all, [&](const std::string& name) { return !architectures.contains(name); });
  }
  // An architecture of one system would admit nodes of another, whose architectures differ.
  if (addition.architectures.empty()) {
    auto preferred = supported.find(std::string(kLinux));
    if (preferred == supported.end()) preferred = supported.begin();
    systems = {preferred->first};
    addition.architectures = preferred->second;
  }
  bool linux_by_default = !allowed.AreNamed() && systems.contains(std::string(kLinux));
  if (!linux_by_default && !common.every && !allowed.AllIn(systems))
    addition.operating_systems = systems;
  if (systems == std::set<std::string>{std::string(kWindows)})
    addition.windows_builds = common.windows_builds;
  return addition;
}

bool SelectsWindowsBuild(const kube::core::Pod& pod, const NodeSelectorTerm& term) {
  auto selects = [](const NodeSelectorRequirement& expression) {
    return expression.key() == api::kWindowsBuildLabel;
  };
  return pod.spec().node_selector().contains(std::string(api::kWindowsBuildLabel)) ||
         std::any_of(term.match_expressions().begin(), term.match_expressions().end(), selects);
}

void AddOneOf(std::string_view label, const std::set<std::string>& values, NodeSelectorTerm& term) {
  NodeSelectorRequirement& requirement = *term.add_match_expressions();
  requirement.set_key(std::string(label));
  requirement.set_operator_("In");
  for (const std::string& value : values) requirement.add_values(value);
}

void AddNowhere(NodeSelectorTerm& term) {
  NodeSelectorRequirement& nowhere = *term.add_match_expressions();
  nowhere.set_key(std::string(api::kNoSupportedArchLabel));
  nowhere.set_operator_("Exists");
}

void Add(const TermAddition& addition, NodeSelectorTerm& term) {
  if (addition.architectures.empty()) {
    AddNowhere(term);
    return;
  }
  AddOneOf(api::kArchLabel, addition.architectures, term);
  if (!addition.operating_systems.empty())
    AddOneOf(api::kOsLabel, addition.operating_systems, term);
  if (!addition.windows_builds.empty())
    AddOneOf(api::kWindowsBuildLabel, addition.windows_builds, term);
}

}  // namespace placement
