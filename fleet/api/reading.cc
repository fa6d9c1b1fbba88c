// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/reading.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace fleet {
namespace {

using api::JsonReader;
using kube::Json;
using kube::WallTime;

constexpr size_t kMaxLabelBytes = 1024;

// The number at `at`; -1 if there is none.
int TwoDigits(const std::string& text, size_t at) {
  if (text.size() < at + 2) return -1;
  const char* begin = text.data() + at;
  int value = -1;
  auto [end, error] = std::from_chars(begin, begin + 2, value);
  return error == std::errc() && end == begin + 2 ? value : -1;
}

// "+02:30" or "-05:00" at the end of `text`, which becomes "...Z".
std::optional<std::chrono::minutes> TakeZone(std::string& text) {
  if (text.ends_with('Z')) return std::chrono::minutes(0);
  constexpr size_t kZone = 6;
  if (text.size() <= kZone) return std::nullopt;
  std::string zone = text.substr(text.size() - kZone);
  int hours = TwoDigits(zone, 1);
  int minutes = TwoDigits(zone, 4);
  bool valid = (zone[0] == '+' || zone[0] == '-') && zone[3] == ':' && hours >= 0 && hours < 24 &&
               minutes >= 0 && minutes < 60;
  if (!valid) return std::nullopt;
  text.replace(text.size() - kZone, kZone, "Z");
  std::chrono::minutes offset(60 * hours + minutes);
  return zone[0] == '-' ? -offset : offset;
}

}  // namespace

std::string ReadString(JsonReader& reader, std::string_view name, size_t max_bytes,
                       api::Presence presence) {
  std::string text = reader.String(name, presence);
  if (text.size() <= max_bytes) return text;
  reader.Problem(name, "must have at most " + std::to_string(max_bytes) + " bytes");
  return "";
}

std::vector<std::string> ReadStrings(JsonReader& reader, std::string_view name, size_t max_items,
                                     size_t max_bytes) {
  std::vector<std::string> strings;
  const Json* list = reader.Array(name, max_items);
  if (list == nullptr) return strings;
  for (const Json& item : *list) {
    if (item.is_string() && item.get_ref<const std::string&>().size() <= max_bytes) {
      strings.push_back(item.get<std::string>());
    } else {
      reader.Problem(name, "must be strings of at most " + std::to_string(max_bytes) + " bytes");
    }
  }
  return strings;
}

void ForEachItem(JsonReader& reader, std::string_view name, size_t max_items,
                 const std::function<void(JsonReader& item, const Json& json)>& read) {
  const Json* list = reader.Array(name, max_items);
  if (list == nullptr) return;
  for (size_t i = 0; i < list->size(); ++i) {
    JsonReader item((*list)[i], reader.PathOf(name) + "[" + std::to_string(i) + "]",
                    reader.problems());
    if ((*list)[i].is_object()) read(item, (*list)[i]);
  }
}

std::optional<WallTime> ParseBoundedTime(std::string text) {
  constexpr size_t kMaxLength = 64;
  if (text.size() > kMaxLength || text.size() < 5 || text[4] != '-') return std::nullopt;
  std::optional<std::chrono::minutes> zone = TakeZone(text);
  int year = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + 4, year);
  if (!zone || error != std::errc() || end != text.data() + 4 || year < 0) return std::nullopt;
  // A month 99 would be years later.
  constexpr size_t kMonth = 5;
  int month = TwoDigits(text, kMonth);
  if (month < 1 || month > 12) return std::nullopt;
  // system_clock counts nanoseconds and ends in 2262.
  constexpr int kFirstYear = 1970;
  constexpr int kLastYear = 2260;
  if (year < kFirstYear) return WallTime();
  if (year > kLastYear) text.replace(0, 4, std::to_string(kLastYear));
  kube::Result<WallTime> time = kube::ParseTime(text);
  if (!time) return std::nullopt;
  return *time - *zone;
}

std::optional<WallTime> ReadTime(JsonReader& reader, std::string_view name) {
  std::string text = reader.String(name);
  if (text.empty()) return std::nullopt;
  std::optional<WallTime> time = ParseBoundedTime(std::move(text));
  if (!time) reader.Problem(name, "must be an RFC 3339 time");
  return time;
}

std::map<std::string, std::string> ReadLabels(const Json& object, size_t max_items,
                                              api::FieldErrors& problems) {
  std::map<std::string, std::string> labels;
  const Json* json = kube::Find(object, "metadata.labels");
  if (json == nullptr || !json->is_object()) return labels;
  for (const auto& [key, value] : json->items()) {
    if (!value.is_string()) continue;
    const std::string& text = value.get_ref<const std::string&>();
    if (labels.size() == max_items || key.size() + text.size() > kMaxLabelBytes) {
      api::AddProblem(problems, "metadata.labels", "too many or too long: not all are used");
      continue;
    }
    labels.emplace(key, text);
  }
  return labels;
}

std::string MetadataString(const Json& object, std::string_view map, std::string_view key) {
  const Json& strings = ObjectOrEmpty(object, map);
  auto found = strings.find(std::string(key));
  return found != strings.end() && found->is_string() ? found->get<std::string>() : "";
}

bool HasFinalizer(const Json& object, std::string_view finalizer) {
  const Json& finalizers = ListOrEmpty(object, "metadata.finalizers");
  return std::find(finalizers.begin(), finalizers.end(), Json(std::string(finalizer))) !=
         finalizers.end();
}

bool IsDeleting(const Json& object) {
  const Json* time = kube::Find(object, "metadata.deletionTimestamp");
  return time != nullptr && !time->is_null();
}

const Json& ObjectOrEmpty(const Json& object, std::string_view name) {
  static const Json kEmpty = Json::object();
  const Json* found = kube::Find(object, name);
  return found != nullptr && found->is_object() ? *found : kEmpty;
}

const Json& ListOrEmpty(const Json& object, std::string_view name) {
  static const Json kEmpty = Json::array();
  const Json* found = kube::Find(object, name);
  return found != nullptr && found->is_array() ? *found : kEmpty;
}

}  // namespace fleet
