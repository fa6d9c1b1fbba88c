// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/configs.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "kube/types/list_at.h"

namespace sim::checker {
namespace {

std::vector<PlatformWeight> PreferencesIn(const Json& plugins) {
  std::vector<PlatformWeight> preferences;
  if (!kube::BoolAt(plugins, "nodeAffinityScoring.enabled")) return preferences;
  for (const Json& platform : kube::ListAt(plugins, "nodeAffinityScoring.platforms"))
    preferences.push_back({kube::StringAt(platform, "architecture"),
                           static_cast<int>(kube::IntAt(platform, "weight"))});
  return preferences;
}

std::vector<std::string> StringsAt(const Json& object, std::string_view path) {
  std::vector<std::string> strings;
  for (const Json& item : kube::ListAt(object, path)) {
    if (item.is_string()) strings.push_back(item.get<std::string>());
  }
  return strings;
}

std::optional<TolerationPlugin> TolerationsIn(const Json& plugins) {
  if (!plugins.contains("architectureTolerations")) return std::nullopt;
  const Json& plugin = kube::ObjectAt(plugins, "architectureTolerations");
  TolerationPlugin read{.enabled = kube::BoolAt(plugin, "enabled"),
                        .effects = StringsAt(plugin, "effects"),
                        .key = kube::StringAt(plugin, "key", "kubernetes.io/arch")};
  if (read.effects.empty()) read.effects = {"NoSchedule"};
  return read;
}

Json MemberOf(const Json& object, std::string_view path) {
  const Json* member = kube::Find(object, path);
  return member == nullptr ? Json() : *member;
}

bool IsDeleting(const Json& object) {
  return !kube::StringAt(object, "metadata.deletionTimestamp").empty();
}

}  // namespace

NamespaceConfig NamespaceConfig::Read(const Json& object) {
  const Json& plugins = kube::ObjectAt(object, "spec.plugins");
  return {.name = kube::StringAt(object, "metadata.name"),
          .created = kube::StringAt(object, "metadata.creationTimestamp"),
          .priority = kube::IntAt(object, "spec.priority"),
          .deleting = IsDeleting(object),
          .selector = MemberOf(object, "spec.labelSelector"),
          .preferences = PreferencesIn(plugins),
          .tolerations = TolerationsIn(plugins),
          .rules = !kube::ListAt(object, "spec.celRules").empty()};
}

ClusterConfig ClusterConfig::Read(const Json& object) {
  const Json& plugins = kube::ObjectAt(object, "spec.plugins");
  ClusterConfig config;
  config.exists = true;
  config.deleting = IsDeleting(object);
  config.namespace_selector = MemberOf(object, "spec.namespaceSelector");
  config.excluded_schedulers = StringsAt(object, "spec.excludedSchedulerNames");
  config.preferences = PreferencesIn(plugins);
  config.namespace_precedence =
      kube::StringAt(plugins, "nodeAffinityScoring.precedence") == "Namespace";
  config.tolerations = TolerationsIn(plugins);
  config.fallback = kube::StringAt(object, "spec.fallbackArchitecture");
  config.amd64_levels = kube::BoolAt(plugins, "amd64Levels.enabled");
  config.places = kube::StringAt(object, "spec.knownImages") == "PlaceAtCreation" &&
                  !kube::BoolAt(plugins, "schedulingPolicies.enabled");
  auto period = [&](const char* path, Time otherwise) {
    return ParsePeriod(kube::StringAt(object, path)).value_or(otherwise);
  };
  config.takeover_after = period("spec.shardTakeoverAfter", config.takeover_after);
  config.retry_period = period("spec.inspectionRetryPeriod", config.retry_period);
  return config;
}

InForce InForceOf(NamespaceConfigs configs) {
  std::sort(configs.begin(), configs.end(), [](const auto& a, const auto& b) {
    if (a->priority != b->priority) return a->priority > b->priority;
    if (a->created != b->created) return a->created < b->created;
    return a->name < b->name;
  });
  InForce in_force;
  for (std::shared_ptr<const NamespaceConfig>& config : configs) {
    if (!in_force.configs.empty() && in_force.configs.back()->priority == config->priority) {
      if (in_force.configs.back()->created == config->created) in_force.unclear = true;
      continue;
    }
    in_force.configs.push_back(std::move(config));
  }
  return in_force;
}

std::optional<Time> ParsePeriod(std::string_view text) {
  using namespace std::chrono_literals;
  constexpr std::pair<std::string_view, Time> kUnits[] = {
      {"ms", 1ms}, {"h", 1h}, {"m", 1min}, {"s", 1s}};
  Time period{};
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    int64_t number = 0;
    auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (parsed.ec != std::errc() || number < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(parsed.ptr - text.data()));
    auto unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                             [&](const auto& one) { return text.starts_with(one.first); });
    if (unit == std::end(kUnits)) return std::nullopt;
    period += number * unit->second;
    text.remove_prefix(unit->first.size());
  }
  return period;
}

}  // namespace sim::checker
