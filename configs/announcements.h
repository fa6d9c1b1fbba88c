// SPDX-License-Identifier: Apache-2.0
// Announcements: which PodPlacementConfigs are being written, told before they are there.
//
// The operator's validating webhook sees every write of a PodPlacementConfig before the API server stores it, and notes
// it in the annotation announced-configs of the Leases of those who apply the configs. One GET of their own Lease then
// tells these whether their watch may be behind (see fresh_configs.h). The annotation's value is this class in JSON.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace configs {

struct Announcement {
  // Of the config as it will be stored.
  std::string uid;
  int64_t generation = 0;
  // By the clock of who announces; only for forgetting old ones.
  std::chrono::seconds since_epoch{};

  bool operator==(const Announcement&) const = default;
};

class Announcements {
 public:
  // What cannot be read is left out: the annotation is not ours alone to write.
  static Announcements Parse(std::string_view text);
  std::string ToString() const;

  // Replaces what was announced of the same config, and forgets what is old by now or too much.
  void Add(const std::string& ns, const std::string& name, Announcement announcement);

  // By the config's name.
  std::map<std::string, Announcement> Of(std::string_view ns) const;

 private:
  // By "namespace/name".
  std::map<std::string, Announcement> all_;
};

}  // namespace configs
