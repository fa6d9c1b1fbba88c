// SPDX-License-Identifier: Apache-2.0
#include "exec-format/findings/image_finding.h"

#include <algorithm>
#include <utility>

#include "inspection/base/digest.h"
#include "kube/base/clock.h"
#include "kube/base/one_line.h"

namespace exec_format {

using kube::Json;

namespace {

struct Field {
  const char* name;
  std::string ImageFinding::*value;
};

constexpr Field kSpec[] = {{"digest", &ImageFinding::digest},
                           {"architecture", &ImageFinding::architecture},
                           {"namespace", &ImageFinding::ns}};
constexpr Field kEvidence[] = {{"image", &ImageFinding::image},
                               {"path", &ImageFinding::path},
                               {"machine", &ImageFinding::machine},
                               {"node", &ImageFinding::node},
                               {"namespace", &ImageFinding::of_namespace}};
constexpr size_t kNameDigits = 20;

template <size_t N>
void Read(const Json& object, const std::string& prefix, const Field (&fields)[N],
          ImageFinding& finding) {
  for (const Field& field : fields) {
    finding.*field.value = kube::StringAt(object, prefix + field.name);
    (finding.*field.value).resize(std::min((finding.*field.value).size(), kMaxFindingText));
  }
}

template <size_t N>
Json Write(const Field (&fields)[N], const ImageFinding& finding) {
  Json object = Json::object();
  for (const Field& field : fields) {
    if (!(finding.*field.value).empty())
      object[field.name] = (finding.*field.value).substr(0, kMaxFindingText);
  }
  return object;
}

}  // namespace

kube::Result<ImageFinding> ImageFinding::FromJson(Json object) {
  ImageFinding parsed;
  parsed.metadata_ = kube::MetadataFromJson(object);
  Read(object, "spec.", kSpec, parsed);
  Read(object, "evidence.", kEvidence, parsed);
  parsed.ignored = kube::BoolAt(object, "spec.ignored");
  const int64_t level = kube::IntAt(object, "spec.amd64Level");
  if (level >= 2 && level <= 4) parsed.amd64_level = static_cast<int>(level);
  kube::Result<kube::WallTime> seen = kube::ParseTime(kube::StringAt(object, "evidence.seen"));
  if (seen) parsed.seen = std::chrono::floor<std::chrono::seconds>(*seen);
  return parsed;
}

Json ImageFinding::ToJson() const {
  constexpr kube::Resource kResource = kube::ResourceOf<ImageFinding>::value;
  Json spec = Write(kSpec, *this), evidence = Write(kEvidence, *this);
  if (ignored) spec["ignored"] = true;
  if (amd64_level > 0) spec["amd64Level"] = amd64_level;
  evidence["seen"] = kube::FormatTime(seen);
  return {{"apiVersion", kResource.ApiVersion()},
          {"kind", kResource.kind},
          {"metadata", kube::MetadataToJson(metadata_)},
          {"spec", std::move(spec)},
          {"evidence", std::move(evidence)}};
}

std::string FindingName(std::string_view digest, std::string_view architecture,
                        std::string_view ns) {
  std::string all(digest);
  all.append(" ").append(architecture).append(" ").append(ns);
  const std::string hash = inspection::Sha256Digest(all);
  return std::string(architecture) + "-" + hash.substr(hash.find(':') + 1, kNameDigits);
}

std::string Describe(const ImageFinding& finding) {
  std::string text = "the program";
  if (!finding.path.empty()) text += " " + finding.path;
  if (finding.amd64_level > 0) {
    text += " needs x86-64-v" + std::to_string(finding.amd64_level);
    return kube::OneLine(text);
  }
  text += finding.machine.empty() ? " failed with an exec format error in two pods"
                                  : " is built for " + finding.machine;
  return kube::OneLine(text);
}

}  // namespace exec_format
