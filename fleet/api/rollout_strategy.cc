// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/rollout_strategy.h"

#include <array>
#include <charconv>

#include "api/json_reader.h"

namespace fleet {
namespace {

using api::JsonReader;
using kube::Json;
using std::chrono::seconds;

constexpr size_t kMaxMandatoryGroups = 100;
constexpr size_t kMaxGroupName = 63;
constexpr int64_t kMaxClusters = 1'000'000;
constexpr seconds kMaxRolloutTime = std::chrono::hours(24 * 30);
constexpr std::string_view kNoDeadline = "None";

struct TypeNames {
  RolloutType type;
  std::string_view value;   // of the field `type`
  std::string_view member;  // with the details
};
constexpr std::array<TypeNames, 3> kTypes = {
    {{RolloutType::kAll, "All", "all"},
     {RolloutType::kProgressive, "Progressive", "progressive"},
     {RolloutType::kProgressivePerGroup, "ProgressivePerGroup", "progressivePerGroup"}}};

// 0 if `name` is not a unit.
int64_t SecondsOf(char name) {
  switch (name) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    default:
      return 0;
  }
}

// A number from 0 to `high`, written with digits alone.
std::optional<int64_t> ParseNumber(std::string_view text, int64_t high) {
  int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || text[0] == '-') return {};
  if (number > high) return {};
  return number;
}

std::optional<ClusterCount> ReadCount(JsonReader& reader, const Json& object, std::string_view name,
                                      int64_t low) {
  const Json* value = kube::Find(object, name);
  if (value == nullptr || value->is_null()) return {};
  std::optional<int64_t> number;
  bool percent = false;
  if (value->is_number_integer()) {
    number = ParseNumber(kube::DumpJson(*value), kMaxClusters);
  } else if (value->is_string()) {
    std::string text = value->get<std::string>();
    percent = text.ends_with('%');
    if (percent) text.pop_back();
    number = ParseNumber(text, percent ? 100 : kMaxClusters);
  }
  if (!number || *number < low) {
    reader.Problem(name, "must be a number of at least " + std::to_string(low) +
                             ", or a percentage up to 100%");
    return {};
  }
  return ClusterCount{.value = *number, .percent = percent};
}

std::optional<seconds> ReadTime(JsonReader& reader, std::string_view name, seconds low) {
  std::string text = reader.String(name);
  if (text.empty()) return {};
  std::optional<seconds> time = ParseRolloutTime(text);
  if (!time || *time < low) {
    reader.Problem(name, "must be a duration of at least " + std::to_string(low.count()) +
                             "s and at most 30 days, for example 5m or 1h30m");
    return {};
  }
  return time;
}

std::vector<MandatoryGroup> ReadGroups(JsonReader& reader) {
  constexpr std::string_view kName = "mandatoryDecisionGroups";
  std::vector<MandatoryGroup> groups;
  const Json* list = reader.Array(kName, kMaxMandatoryGroups);
  for (size_t i = 0; list != nullptr && i < list->size(); ++i) {
    JsonReader item((*list)[i], reader.PathOf(kName) + "[" + std::to_string(i) + "]",
                    reader.problems());
    MandatoryGroup group;
    group.name = item.String("groupName");
    if (group.name.size() > kMaxGroupName) {
      item.Problem("groupName", "must have at most 63 characters");
      continue;
    }
    if (group.name.empty()) group.index = item.Int("groupIndex", {.range = {0, kMaxClusters}});
    groups.push_back(std::move(group));
  }
  return groups;
}

Json CountToJson(const ClusterCount& count) {
  if (count.percent) return std::to_string(count.value) + "%";
  return count.value;
}

}  // namespace

int64_t CountOf(const std::optional<ClusterCount>& count, int64_t total, int64_t fallback) {
  if (!count) return fallback;
  int64_t number = count->percent ? (count->value * total + 99) / 100 : count->value;
  return number <= 0 || number > total ? fallback : number;
}

std::optional<seconds> ParseRolloutTime(std::string_view text) {
  if (text == "0") return seconds(0);
  if (text.empty()) return {};
  seconds total{0};
  while (!text.empty()) {
    size_t digits = text.find_first_not_of("0123456789");
    if (digits == std::string_view::npos || digits == 0) return {};
    std::optional<int64_t> number = ParseNumber(text.substr(0, digits), kMaxRolloutTime.count());
    int64_t unit = SecondsOf(text[digits]);
    if (!number || unit == 0) return {};
    total += seconds(*number * unit);
    if (total > kMaxRolloutTime) return {};  // before it can overflow
    text.remove_prefix(digits + 1);
  }
  return total;
}

RolloutStrategy RolloutStrategyFromJson(const Json& json, const std::string& path,
                                        api::FieldErrors& problems) {
  RolloutStrategy strategy;
  JsonReader reader(json, path, problems);
  std::array<std::string_view, kTypes.size()> values;
  for (size_t i = 0; i < kTypes.size(); ++i) values[i] = kTypes[i].value;
  std::string type = reader.Enum("type", values);
  TypeNames names = kTypes[0];  // the default
  for (const TypeNames& candidate : kTypes) {
    if (candidate.value == type) names = candidate;
  }
  strategy.type = names.type;

  const Json* details = reader.Object(names.member);
  if (details == nullptr) return strategy;
  JsonReader fields(*details, reader.PathOf(names.member), problems);
  strategy.min_success_time = ReadTime(fields, "minSuccessTime", seconds(0)).value_or(seconds(0));
  if (kube::StringAt(*details, "progressDeadline") != kNoDeadline)
    strategy.progress_deadline = ReadTime(fields, "progressDeadline", seconds(1));
  strategy.max_failures = ReadCount(fields, *details, "maxFailures", 0);
  if (strategy.type == RolloutType::kAll) return strategy;
  strategy.mandatory_groups = ReadGroups(fields);
  if (strategy.type == RolloutType::kProgressive)
    strategy.max_concurrency = ReadCount(fields, *details, "maxConcurrency", 1);
  return strategy;
}

Json RolloutStrategyToJson(const RolloutStrategy& strategy) {
  Json details = Json::object();
  if (strategy.min_success_time != seconds(0))
    details["minSuccessTime"] = std::to_string(strategy.min_success_time.count()) + "s";
  if (strategy.progress_deadline)
    details["progressDeadline"] = std::to_string(strategy.progress_deadline->count()) + "s";
  if (strategy.max_failures) details["maxFailures"] = CountToJson(*strategy.max_failures);
  if (strategy.max_concurrency) details["maxConcurrency"] = CountToJson(*strategy.max_concurrency);
  for (const MandatoryGroup& group : strategy.mandatory_groups) {
    details["mandatoryDecisionGroups"].push_back(
        group.name.empty() ? Json{{"groupIndex", group.index}} : Json{{"groupName", group.name}});
  }
  for (const TypeNames& names : kTypes) {
    if (names.type != strategy.type) continue;
    Json json = {{"type", std::string(names.value)}};
    if (!details.empty()) json[std::string(names.member)] = std::move(details);
    return json;
  }
  return Json::object();
}

}  // namespace fleet
