// SPDX-License-Identifier: Apache-2.0
#include "placement/local_configs.h"

#include <algorithm>

#include "api/cel_rule.h"
#include "api/names.h"
#include "kube/types/object_name.h"
#include "placement/pod_metadata.h"

namespace placement {
namespace {

// Priorities are unique in a namespace, so no more configs are in force.
constexpr size_t kMaxConfigs = 256;
constexpr size_t kMaxEntries = kMaxConfigs * (1 + api::kMaxCelRules);
constexpr size_t kMaxRuleName = 63;

bool IsRuleName(std::string_view name) {
  return name.size() <= kMaxRuleName && name.find('.') == std::string_view::npos &&
         kube::IsObjectName(name);
}

}  // namespace

std::optional<LocalConfig> ParseLocalConfig(std::string_view text) {
  size_t slash = text.find('/');
  LocalConfig entry{.config = text.substr(0, slash)};
  if (!kube::IsObjectName(entry.config)) return std::nullopt;
  if (slash == std::string_view::npos) return entry;
  entry.rule = text.substr(slash + 1);
  if (!IsRuleName(entry.rule)) return std::nullopt;
  return entry;
}

std::vector<LocalConfig> LocalConfigsOf(const kube::core::Pod& pod) {
  std::vector<LocalConfig> entries;
  std::string_view text = AnnotationOf(pod, api::kLocalConfigsAnnotation);
  while (!text.empty() && entries.size() < kMaxEntries) {
    std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (std::optional<LocalConfig> entry = ParseLocalConfig(one)) entries.push_back(*entry);
  }
  return entries;
}

std::vector<std::string> GatingConfigs(const kube::core::Pod& pod) {
  std::vector<std::string> names;
  for (const LocalConfig& entry : LocalConfigsOf(pod)) {
    if (names.size() == kMaxConfigs) break;
    if (std::find(names.begin(), names.end(), entry.config) == names.end())
      names.emplace_back(entry.config);
  }
  return names;
}

}  // namespace placement
