// SPDX-License-Identifier: Apache-2.0
#include "watches/announcements.h"

#include <algorithm>
#include <charconv>
#include <tuple>

#include "api/names.h"
#include "kube/types/object_name.h"

namespace watches {
namespace {

constexpr size_t kMaxUid = 40;  // a UUID has 36 characters

// Removes a number and a space from the start of `text`.
bool TakeNumber(std::string_view& text, int64_t& number) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end == text.data() + text.size() || *end != ' ') return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

bool IsAnnouncement(std::string_view key) {
  return key.starts_with(api::kAnnouncementAnnotationPrefix);
}

// "GENERATION SECONDS NAME"
std::optional<Announcement> Read(std::string_view key, std::string_view value) {
  Announcement announcement;
  key.remove_prefix(api::kAnnouncementAnnotationPrefix.size());
  int64_t seconds = 0;
  bool numbers = TakeNumber(value, announcement.generation) && TakeNumber(value, seconds);
  if (!numbers || seconds < 0 || key.empty() || key.size() > kMaxUid || !kube::IsObjectName(value))
    return std::nullopt;
  announcement.uid = key;
  announcement.name = value;
  announcement.since_epoch = std::chrono::seconds(seconds);
  return announcement;
}

}  // namespace

std::string AnnotationKey(std::string_view uid) {
  return std::string(api::kAnnouncementAnnotationPrefix) + std::string(uid);
}

std::string AnnotationValue(const Announcement& announcement) {
  return std::to_string(announcement.generation) + " " +
         std::to_string(announcement.since_epoch.count()) + " " + announcement.name;
}

std::vector<Announcement> AnnouncementsOn(const kube::meta::ObjectMeta& lease) {
  std::vector<Announcement> all;
  for (const auto& [key, value] : lease.annotations()) {
    if (!IsAnnouncement(key)) continue;
    if (std::optional<Announcement> announcement = Read(key, value))
      all.push_back(std::move(*announcement));
  }
  if (all.size() > kMaxAnnouncements) {
    // The order in which ObsoleteAnnotations() removes them, from its end.
    std::sort(all.begin(), all.end(), [](const Announcement& a, const Announcement& b) {
      return std::tie(a.since_epoch, a.uid) > std::tie(b.since_epoch, b.uid);
    });
    all.resize(kMaxAnnouncements);
  }
  std::sort(all.begin(), all.end(),
            [](const Announcement& a, const Announcement& b) { return a.uid < b.uid; });
  return all;
}

std::vector<std::string> ObsoleteAnnotations(const kube::meta::ObjectMeta& lease,
                                             std::chrono::seconds now) {
  std::vector<std::string> obsolete;
  std::vector<std::pair<std::chrono::seconds, std::string>> current;
  for (const auto& [key, value] : lease.annotations()) {
    if (!IsAnnouncement(key)) continue;
    std::optional<Announcement> announcement = Read(key, value);
    // A time in the future comes from a clock that was set back, or from a tenant.
    bool keep = announcement && announcement->since_epoch >= now - kAnnouncementKept &&
                announcement->since_epoch <= now + kAnnouncementKept;
    if (keep) {
      current.emplace_back(announcement->since_epoch, key);
    } else {
      obsolete.push_back(key);
    }
  }
  if (current.size() > kMaxAnnouncements) {
    std::sort(current.begin(), current.end());
    for (size_t i = 0; i < current.size() - kMaxAnnouncements; ++i)
      obsolete.push_back(std::move(current[i].second));
  }
  return obsolete;
}

bool AnyCurrent(const kube::meta::ObjectMeta& lease, std::chrono::seconds now) {
  const auto& annotations = lease.annotations();
  auto all = std::count_if(annotations.begin(), annotations.end(),
                           [](const auto& annotation) { return IsAnnouncement(annotation.first); });
  return static_cast<size_t>(all) > ObsoleteAnnotations(lease, now).size();
}

}  // namespace watches
