// SPDX-License-Identifier: Apache-2.0
#include "image-facts/known_images_report.h"

#include <sstream>

namespace image_facts {
namespace {

constexpr size_t kMaxText = 128;
constexpr size_t kMaxReplica = 32;

}  // namespace

std::string ToText(const KnownImagesReport& report) {
  return report.replica + " " + std::to_string(report.looked) + " " +
         std::to_string(report.placed) + " " + std::to_string(report.images);
}

std::optional<KnownImagesReport> ReportFromText(const std::string& text) {
  if (text.size() > kMaxText || text.find('-') != std::string::npos) return std::nullopt;
  std::istringstream words(text);
  KnownImagesReport report;
  words >> report.replica >> report.looked >> report.placed >> report.images;
  bool valid = words && words.eof() && report.replica.size() <= kMaxReplica &&
               report.replica.find_first_not_of("0123456789abcdef") == std::string::npos &&
               report.placed <= report.looked;
  return valid ? std::optional(std::move(report)) : std::nullopt;
}

}  // namespace image_facts
