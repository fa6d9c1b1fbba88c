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
#include <map>
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

// An announcement is kept until every watch has the write. It is stored within a minute, the API
// server's limit for requests, and a watch without a connection begins anew after five minutes
// (kube/client/new_client.h, watch_idle_timeout).
inline constexpr std::chrono::seconds kAnnouncementKept{480};
// The limit in one namespace. Above it, readers ignore the oldest ones, and the next writer removes
// them.
inline constexpr size_t kMaxAnnouncements = 512;

struct Announcement {
  // The uid of the config that will be stored.
  std::string uid;
  std::string name;
  int64_t generation = 0;
  // Later than that of all earlier writes of the Lease, whatever the clocks of their writers say;
  // no other clock is compared with it. Tells two announcements of one generation apart.
  std::chrono::seconds since_epoch{};

  bool operator==(const Announcement&) const = default;
};

// The key and value of the annotation.
std::string AnnotationKey(std::string_view uid);
std::string AnnotationValue(const Announcement& announcement);

// The announcements on a Lease, sorted by uid; of more than kMaxAnnouncements, the newest. Skips
// annotations that do not parse: tenants can write them too.
std::vector<Announcement> AnnouncementsOn(const kube::meta::ObjectMeta& lease);

// The annotations to set on a Lease; nullopt: to remove.
using AnnotationChanges = std::map<std::string, std::optional<std::string>>;

// What announces `writes` on a Lease with the metadata `lease`, and removes what does not parse and
// the oldest above kMaxAnnouncements. Their times are `now`, or later if the Lease has such. The
// announced generation of a config never decreases: a write that was reviewed on an old version of
// its config fails, but the write that was announced before may have been stored.
AnnotationChanges Announcing(const std::vector<Announcement>& writes,
                             const kube::meta::ObjectMeta& lease, std::chrono::seconds now);

}  // namespace watches
