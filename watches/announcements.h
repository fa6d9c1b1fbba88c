// SPDX-License-Identifier: Apache-2.0
// Announcements: which PodPlacementConfigs are being written, announced before they are stored.
//
// The operator's validating webhook gets every write of a PodPlacementConfig before the API server
// stores it, and records it on the Lease `pod-placement-announcements` in the config's namespace.
// No leader election uses that Lease. Each config has an annotation of its own, so writers do not
// overwrite each other. One GET of the Lease shows a reader whether its watch may be behind (see
// fresh_configs.h). A tenant that writes Leases in its namespace can disturb only the announcements
// of that namespace. The operator deletes the Lease when all announcements have expired
// (operator/announcements/).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/meta.pb.h"

namespace watches {

// The API server stores an announced write this long after the announcement, or later: the
// announcer waits. So a reader that has read the announcements of a namespace need not read them
// again for the pods of the next `kAnnouncementsReused`: what it has not seen was announced after
// its read, and is stored only after these pods. The difference is for a process that is held up in
// between.
inline constexpr std::chrono::milliseconds kAnnouncedAhead{250};
inline constexpr std::chrono::milliseconds kAnnouncementsReused{200};

// An announced write is stored or has failed after a minute, the API server's limit for requests.
inline constexpr std::chrono::seconds kAnnouncementKept{180};
// The limit in one namespace. Above it, readers ignore the oldest ones, and the next writer removes
// them.
inline constexpr size_t kMaxAnnouncements = 512;

struct Announcement {
  // The uid of the config that will be stored.
  std::string uid;
  std::string name;
  int64_t generation = 0;
  // The time by the clock of the announcing process. Used only to remove old announcements.
  std::chrono::seconds since_epoch{};

  bool operator==(const Announcement&) const = default;
};

// The key and value of the annotation.
std::string AnnotationKey(std::string_view uid);
std::string AnnotationValue(const Announcement& announcement);

// The announcements on a Lease, sorted by uid; of more than kMaxAnnouncements, the newest. Skips
// annotations that do not parse: tenants can write them too.
std::vector<Announcement> AnnouncementsOn(const kube::meta::ObjectMeta& lease);

// The keys of the annotations that the next writer removes at `now`: expired, not parsable, or the
// oldest above kMaxAnnouncements.
std::vector<std::string> ObsoleteAnnotations(const kube::meta::ObjectMeta& lease,
                                             std::chrono::seconds now);

// Whether the Lease has an announcement that is not obsolete at `now`. AnnouncementsOn() does not
// tell: above the limit, it may show only announcements with a time in the future.
bool AnyCurrent(const kube::meta::ObjectMeta& lease, std::chrono::seconds now);

}  // namespace watches
