// SPDX-License-Identifier: Apache-2.0
#include "plugin/inspect/image_details.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "image-facts/image_fact.h"
#include "kube/types/list_at.h"
#include "plugin/text/printable.h"
#include "plugin/text/table.h"
#include "plugin/text/titled.h"

namespace plugin {
namespace {

using kube::Json;

// A registry can name any size; no image has more.
constexpr uint64_t kMaxBytes = uint64_t{1} << 50;

uint64_t SizeOf(const Json& descriptor) {
  const int64_t size = kube::IntAt(descriptor, "size");
  return size < 0 ? 0 : std::min(static_cast<uint64_t>(size), kMaxBytes);
}

std::string PlatformOf(const Json& descriptor) {
  std::string platform = kube::StringAt(descriptor, "platform.os") + "/" +
                         kube::StringAt(descriptor, "platform.architecture");
  const std::string variant = kube::StringAt(descriptor, "platform.variant");
  if (!variant.empty()) platform += "/" + variant;
  return platform == "/" ? "" : platform;
}

// "linux/amd64 linux/arm64", "*"
std::string PlatformsOf(const ImageDetails& details) {
  return details.platforms == nullptr ? "" : image_facts::PlatformsToText(*details.platforms);
}

// The manifest of an only image names no platform; its config does.
Promise PromiseOf(const ImageDetails& details, const ImageVariant& variant) {
  if (!variant.platform.empty()) return PromiseOfPlatform(variant.platform);
  if (details.platforms == nullptr || details.platforms->platforms.size() != 1) return {};
  const placement::Platform& only = details.platforms->platforms.front();
  return {only.os, only.architecture, only.amd64_level};
}

std::string SayPrograms(const ImageDetails& details) {
  Table table({"PLATFORM", "PROGRAM", "MACHINE", "ALIGNED", "LEVEL", "FINDING"});
  for (const ImageVariant& variant : details.variants) {
    if (!variant.program) continue;
    const Promise promise = PromiseOf(details, variant);
    ProgramRow row = RowOf(*variant.program, promise);
    table.Add({promise.os + "/" + promise.architecture, std::move(row.program),
               std::move(row.machine), std::move(row.alignment), std::move(row.level),
               row.finding.empty() ? "ok" : std::move(row.finding)});
  }
  return table.empty() ? "" : "\n" + table.ToText();
}

}  // namespace

kube::Result<ManifestSummary> SummarizeManifest(std::string_view body) {
  kube::Result<Json> manifest = kube::ParseJson(body);
  if (!manifest) return manifest.error();
  if (!manifest->is_object()) return kube::Error::Invalid("the manifest is not an object");
  ManifestSummary summary;
  summary.is_index = manifest->contains("manifests");
  for (const Json& layer : kube::ListAt(*manifest, "layers"))
    summary.bytes = std::min(summary.bytes + SizeOf(layer), kMaxBytes);
  for (const Json& entry : kube::ListAt(*manifest, "manifests")) {
    std::string platform = PlatformOf(entry);
    // Attestations of BuildKit.
    if (platform == "unknown/unknown") continue;
    summary.variants.push_back(
        {.platform = std::move(platform), .digest = kube::StringAt(entry, "digest")});
  }
  return summary;
}

std::string DescribeBytes(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  constexpr double kStep = 1000;
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= kStep && unit + 1 < kUnits.size(); ++unit) value /= kStep;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string Say(const ImageDetails& details, Style style) {
  const std::string image = style.Bold(Printable(details.image)) + "\n";
  if (!details.error.empty()) return image + Titled("error", details.error, style);
  const std::string platforms = PlatformsOf(details);
  std::string text =
      image + Titled("digest", details.digest, style) + Titled("from", details.place, style) +
      Titled("access", details.access.empty() ? "anonymous" : details.access, style) +
      Titled("runs on", platforms == "*" ? "every platform: it never runs" : platforms, style);
  if (details.variants.empty()) return text;
  Table table({"PLATFORM", "SIZE", "DIGEST"});
  for (const ImageVariant& variant : details.variants)
    table.Add(
        {variant.platform, variant.bytes == 0 ? "" : DescribeBytes(variant.bytes), variant.digest});
  return text + "\n" + table.ToText() + SayPrograms(details);
}

Json AsJson(const ImageDetails& details) {
  Json json = {{"image", details.image}};
  if (!details.error.empty()) {
    json["error"] = details.error;
    return json;
  }
  json["digest"] = details.digest;
  json["place"] = details.place;
  json["access"] = details.access;
  json["platforms"] = PlatformsOf(details);
  json["variants"] = Json::array();
  for (const ImageVariant& variant : details.variants) {
    Json one = {{"platform", variant.platform}, {"digest", variant.digest}};
    if (variant.bytes > 0) one["bytes"] = variant.bytes;
    if (variant.program) one["program"] = AsJson(*variant.program, PromiseOf(details, variant));
    json["variants"].push_back(std::move(one));
  }
  return json;
}

}  // namespace plugin
