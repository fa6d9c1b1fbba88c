// SPDX-License-Identifier: Apache-2.0
// KnownImagesReport: what a replica of the cluster's webhook tells the operator about the pods that
// it looked at, in its answer to a probe (api/webhook_probe.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace image_facts {

struct KnownImagesReport {
  std::string replica;  // another one after each start; [0-9a-f], at most 32
  uint64_t looked = 0;  // at pods, since the start
  uint64_t placed = 0;  // of them, at their creation
  uint64_t images = 0;  // that are known

  bool operator==(const KnownImagesReport&) const = default;
};

std::string ToText(const KnownImagesReport& report);
// Untrusted text; nullopt if it is not one.
std::optional<KnownImagesReport> ReportFromText(const std::string& text);

}  // namespace image_facts
