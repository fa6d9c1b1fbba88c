// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/reading.h"

#include "kube/types/list_at.h"

namespace fleet {
namespace {

using api::JsonReader;
using kube::Json;
using kube::WallTime;

constexpr size_t kMaxLabelBytes = 1024;

}  // namespace

std::string ReadString(JsonReader& reader, std::string_view name, size_t max_bytes,
                       api::Presence presence) {
  std::string text = reader.String(name, presence);
  if (text.size() <= max_bytes) return text;
  reader.Problem(name, "must have at most " + std::to_string(max_bytes) + " bytes");
  return "";
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

std::optional<WallTime> ReadTime(JsonReader& reader, std::string_view name) {
  std::string text = reader.String(name);
  if (text.empty()) return std::nullopt;
  kube::Result<WallTime> time = kube::ParseTime(text);
  if (time) return *time;
  reader.Problem(name, "must be an RFC 3339 time");
  return std::nullopt;
}

std::map<std::string, std::string> ReadLabels(const Json& object, size_t max_items,
                                              api::FieldErrors& problems) {
  std::map<std::string, std::string> labels;
  for (const auto& [key, value] : kube::ObjectAt(object, "metadata.labels").items()) {
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
  const Json& strings = kube::ObjectAt(object, map);
  auto found = strings.find(std::string(key));
  return found != strings.end() && found->is_string() ? found->get<std::string>() : "";
}

bool IsDeleting(const Json& object) {
  const Json* time = kube::Find(object, "metadata.deletionTimestamp");
  return time != nullptr && !time->is_null();
}

}  // namespace fleet
