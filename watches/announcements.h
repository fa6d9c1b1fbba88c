// SPDX-License-Identifier: Apache-2.0
// Announcements: which PodPlacementConfigs are being written, told before they are stored.
//
// The operator's validating webhook sees every write of a PodPlacementConfig before the API server
// stores it, and notes it on the Lease `pod-placement-announcements` of the config's namespace,
// which is nobody's term of leadership: one annotation a config, so that no writer overwrites
// another's. One GET of that Lease then tells those who apply the configs whether their watch may
// be behind (see fresh_configs.h). Whoever may write Leases in a namespace can disturb the
// announcements of that namespace, and of no other one. The operator removes the Lease when nobody
// needs it any more (operator/announcements/announcement_cleaner.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/meta.pb.h"

namespace watches {

// A write that was announced is stored or given up within the API server's own limit for requests,
// a minute.
inline constexpr std::chrono::seconds kAnnouncementKept{180};
// In one namespace. What is beyond is removed by the next writer, the oldest first, and not read.
inline constexpr size_t kMaxAnnouncements = 512;

struct Announcement {
  // Of the config as it will be stored.
  std::string uid;
  std::string name;
  int64_t generation = 0;
  // By the clock of the announcing process; only to remove old ones.
  std::chrono::seconds since_epoch{};

  bool operator==(const Announcement&) const = default;
};

// The annotation of one announcement.
std::string AnnotationKey(std::string_view uid);
std::string AnnotationValue(const Announcement& announcement);

// The announcements on a Lease, by uid, at most kMaxAnnouncements. An annotation that cannot be
// read is skipped: the operator is not the only one who may write it.
std::vector<Announcement> AnnouncementsOn(const kube::meta::ObjectMeta& lease);

// The keys of the annotations that the next writer removes at `now`: those that are too old, that
// cannot be read, and the oldest of too many.
std::vector<std::string> ObsoleteAnnotations(const kube::meta::ObjectMeta& lease,
                                             std::chrono::seconds now);

}  // namespace watches
