// SPDX-License-Identifier: Apache-2.0
#include "configs/announcements.h"

#include <algorithm>

#include "kube/types/unstructured.h"

namespace configs {
namespace {

using kube::Json;

// A write that was announced is stored, or given up, within the API server's own limit for requests of a minute.
constexpr std::chrono::seconds kKept{180};
// About 100 KB, of the 256 KB that an object's annotations may have.
constexpr size_t kMaxAnnouncements = 1024;

}  // namespace

Announcements Announcements::Parse(std::string_view text) {
  Announcements parsed;
  kube::Result<Json> json = kube::ParseJson(text);
  if (!json || !json->is_object()) return parsed;
  for (const auto& [key, value] : json->items()) {
    if (parsed.all_.size() == kMaxAnnouncements) break;
    parsed.all_[key] = {.uid = kube::StringAt(value, "uid"),
                        .generation = kube::IntAt(value, "generation"),
                        .since_epoch = std::chrono::seconds(kube::IntAt(value, "at"))};
  }
  return parsed;
}

std::string Announcements::ToString() const {
  Json json = Json::object();
  for (const auto& [key, announcement] : all_) {
    json[key] = {{"uid", announcement.uid},
                 {"generation", announcement.generation},
                 {"at", announcement.since_epoch.count()}};
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void Announcements::Add(const std::string& ns, const std::string& name, Announcement announcement) {
  std::erase_if(all_, [&](const auto& old) { return old.second.since_epoch + kKept < announcement.since_epoch; });
  while (all_.size() >= kMaxAnnouncements) {
    all_.erase(std::min_element(all_.begin(), all_.end(), [](const auto& a, const auto& b) {
      return a.second.since_epoch < b.second.since_epoch;
    }));
  }
  all_.insert_or_assign(ns + "/" + name, std::move(announcement));
}

std::map<std::string, Announcement> Announcements::Of(std::string_view ns) const {
  std::map<std::string, Announcement> found;
  std::string prefix = std::string(ns) + "/";
  for (auto it = all_.lower_bound(prefix); it != all_.end() && it->first.starts_with(prefix); ++it) {
    found.emplace(it->first.substr(prefix.size()), it->second);
  }
  return found;
}

}  // namespace configs
