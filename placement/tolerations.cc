// SPDX-License-Identifier: Apache-2.0
#include "placement/tolerations.h"

#include <algorithm>
#include <string_view>

namespace placement {
namespace {

using kube::core::Pod;
using kube::core::Toleration;

// As the scheduler decides. A toleration that ends after some seconds counts as well: the user has
// decided how long.
bool Tolerates(const Toleration& toleration, std::string_view key, std::string_view value,
               std::string_view effect) {
  if (!toleration.effect().empty() && toleration.effect() != effect) return false;
  if (!toleration.key().empty() && toleration.key() != key) return false;
  if (toleration.operator_() == "Exists") return true;
  bool equal = toleration.operator_().empty() || toleration.operator_() == "Equal";
  return equal && toleration.value() == value;
}

bool Tolerates(const Pod& pod, std::string_view key, std::string_view value,
               std::string_view effect) {
  return std::any_of(
      pod.spec().tolerations().begin(), pod.spec().tolerations().end(),
      [&](const Toleration& toleration) { return Tolerates(toleration, key, value, effect); });
}

}  // namespace

const api::PodPlacementConfig* ConfigForTolerations(const MatchingConfigs& configs) {
  auto decides = std::find_if(configs.begin(), configs.end(), [](const MatchingConfig& matching) {
    return matching.config->Tolerations() != nullptr;
  });
  return decides == configs.end() ? nullptr : decides->config;
}

std::vector<std::string> ApplyTolerations(Pod& pod, const api::ArchitectureTolerations& plugin,
                                          const ArchitectureSet& supported) {
  std::vector<std::string> added;
  if (!plugin.enabled) return added;
  for (const std::string& architecture : OnlyNames(supported)) {
    for (const std::string& effect : plugin.effects) {
      if (Tolerates(pod, plugin.key, architecture, effect)) continue;
      Toleration& toleration = *pod.mutable_spec()->add_tolerations();
      toleration.set_key(plugin.key);
      toleration.set_operator_("Equal");
      toleration.set_value(architecture);
      toleration.set_effect(effect);
      added.push_back(architecture + ":" + effect);
    }
  }
  return added;
}

}  // namespace placement
