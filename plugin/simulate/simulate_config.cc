// SPDX-License-Identifier: Apache-2.0
#include "plugin/simulate/simulate_config.h"

#include <algorithm>
#include <utility>

#include "api/validation.h"
#include "plugin/pod/config_lines.h"
#include "plugin/simulate/simulate_pod.h"

namespace plugin {
namespace {

std::string PreferencesOf(const Outcome& outcome) {
  std::string text;
  for (const PreferenceLine& line : outcome.preferences) {
    if (!line.lost_to.empty()) continue;
    text += (text.empty() ? "" : ", ") + line.architecture + " " + std::to_string(line.weight);
  }
  return text;
}

}  // namespace

std::shared_ptr<NamespaceEvidence> WithConfig(const api::PodPlacementConfig& config,
                                              const NamespaceEvidence& around) {
  auto with = std::make_shared<NamespaceEvidence>(around);
  std::erase_if(with->configs, [&](const api::PodPlacementConfig& stored) {
    return stored.metadata().name() == config.metadata().name();
  });
  auto behind = std::find_if(with->configs.begin(), with->configs.end(), [&](const auto& stored) {
    return stored.spec.priority < config.spec.priority;
  });
  with->configs.insert(behind, config);
  return with;
}

ConfigOutcome SimulateConfig(const api::PodPlacementConfig& config, const NamespaceEvidence& around,
                             const std::vector<Subject>& workloads) {
  const std::string& name = config.metadata().name();
  ConfigOutcome outcome{.name =
                            "PodPlacementConfig " + config.metadata().namespace_() + "/" + name};
  const auto before = std::make_shared<NamespaceEvidence>(around);
  const std::shared_ptr<NamespaceEvidence> after = WithConfig(config, around);
  api::PodPlacementConfigs all;
  for (const api::PodPlacementConfig& one : after->configs) all.push_back(&one);
  for (const api::PodPlacementConfig& one : after->configs) {
    if (one.metadata().name() != name) continue;
    if (const auto* holder = api::PriorityHolder(one, all); holder != nullptr)
      outcome.problem = "the PodPlacementConfig " + holder->metadata().name() +
                        " has the priority " + std::to_string(config.spec.priority);
  }
  for (const Subject& workload : workloads) {
    // Preferences do not depend on images.
    const Outcome with = SimulatePod(workload, after, {});
    auto line = std::find_if(with.configs.begin(), with.configs.end(),
                             [&](const ConfigLine& one) { return one.name == name; });
    if (line == with.configs.end()) {
      outcome.others.push_back(workload.Name() + ": " + with.cause.why);
    } else if (!line->selects) {
      outcome.others.push_back(workload.Name() + ": " + line->text);
    } else {
      outcome.selected.push_back(
          {workload.Name(), PreferencesOf(SimulatePod(workload, before, {})), PreferencesOf(with)});
    }
  }
  return outcome;
}

}  // namespace plugin
