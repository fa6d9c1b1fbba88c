// SPDX-License-Identifier: Apache-2.0
#include "inspection/base/manifest.h"

#include <algorithm>

#include "api/amd64_levels.h"
#include "api/architecture.h"
#include "inspection/base/reference.h"
#include "kube/base/ascii.h"
#include "kube/types/unstructured.h"

namespace inspection {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

// Usual indexes have some tens of entries, including attestations.
constexpr size_t kMaxEntries = 1024;
constexpr size_t kMaxPlatforms = 64;
constexpr size_t kMaxNested = 16;
// Each of them costs two requests.
constexpr size_t kMaxWithoutPlatform = 16;
constexpr std::string_view kOciConfig = "application/vnd.oci.image.config.v1+json";
constexpr std::string_view kDockerConfig = "application/vnd.docker.container.image.v1+json";
// Signed (+prettyjws) and not.
constexpr std::string_view kDockerSchema1 = "application/vnd.docker.distribution.manifest.v1+";

// kube::Find() would take the dots in these keys for a path.
const Json* Member(const Json& object, std::string_view key) {
  if (!object.is_object()) return nullptr;
  auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

std::string Text(const Json& object, std::string_view key) {
  const Json* value = Member(object, key);
  return value != nullptr && value->is_string() ? value->get<std::string>() : std::string();
}

Result<Descriptor> ParseDescriptor(const Json& json, std::string_view what) {
  Descriptor descriptor{Text(json, "digest"), 0};
  if (!IsDigest(descriptor.digest)) return Error::Invalid(std::string(what) + " without a digest");
  const Json* size = Member(json, "size");
  if (size != nullptr && size->is_number_unsigned()) descriptor.size = size->get<size_t>();
  return descriptor;
}

std::optional<std::string> NormalizeOs(std::string_view os) {
  if (os.empty() || os.size() > 32 || os == "unknown") return std::nullopt;
  if (!std::all_of(os.begin(), os.end(),
                   [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); })) {
    return std::nullopt;
  }
  return std::string(os);
}

bool IsIndexType(std::string_view media_type) {
  return media_type == kOciIndex || media_type == kDockerList;
}

// Whether the entry is an attestation or signature, which buildkit adds to indexes.
bool IsAnnotatedReference(const Json& entry) {
  const Json* annotations = Member(entry, "annotations");
  if (annotations == nullptr || !annotations->is_object()) return false;
  for (const auto& [key, value] : annotations->items()) {
    if (key.starts_with("vnd.docker.reference.")) return true;
  }
  return false;
}

// "v3" -> 3; 0 for "v1", which every amd64 has, and for other texts.
int Amd64Level(std::string_view variant) {
  for (int level = api::kMinAmd64Level; level <= api::kMaxAmd64Level; ++level) {
    if (variant == "v" + std::to_string(level)) return level;
  }
  return 0;
}

// "" for linux: runtimes take an absent name for their own, and they run linux images.
std::optional<Platform> ParsePlatform(const Json& json) {
  std::string named = Text(json, "os");
  std::optional<std::string> os = NormalizeOs(named.empty() ? placement::kLinux : named);
  std::optional<std::string> architecture = NormalizeArchitecture(Text(json, "architecture"));
  if (!os || !architecture) return std::nullopt;
  std::string build;
  if (*os == placement::kWindows) build = WindowsBuild(Text(json, "os.version"));
  int level = *architecture == placement::kAmd64 ? Amd64Level(Text(json, "variant")) : 0;
  return Platform{std::move(*os), std::move(*architecture), std::move(build), level};
}

// Whether only the image's config can tell its platform.
bool NamesNoPlatform(const Json& entry) {
  const Json* platform = Member(entry, "platform");
  return platform == nullptr || platform->is_null() ||
         (platform->is_object() && Text(*platform, "os").empty() &&
          Text(*platform, "architecture").empty());
}

Result<Manifest> ParseIndex(const Json& json) {
  Manifest manifest;
  manifest.kind = Manifest::Kind::kIndex;
  const Json* entries = Member(json, "manifests");
  if (entries == nullptr || !entries->is_array()) return Error::Invalid("index without manifests");
  if (entries->size() > kMaxEntries) return Error::Invalid("index with more than 1024 entries");
  for (const Json& entry : *entries) {
    if (!entry.is_object() || IsAnnotatedReference(entry)) continue;
    if (IsIndexType(Text(entry, "mediaType"))) {
      Result<Descriptor> nested = ParseDescriptor(entry, "nested index");
      if (!nested) return nested.error();
      if (manifest.nested.size() == kMaxNested)
        return Error::Invalid("index with more than 16 nested indexes");
      manifest.nested.push_back(std::move(*nested));
      continue;
    }
    if (NamesNoPlatform(entry)) {
      // It says that it is no image.
      if (!Text(entry, "artifactType").empty()) continue;
      Result<Descriptor> image = ParseDescriptor(entry, "index entry");
      if (!image) return image.error();
      if (manifest.without_platform.size() == kMaxWithoutPlatform)
        return Error::Invalid("index with more than 16 entries without a platform");
      manifest.without_platform.push_back(std::move(*image));
      continue;
    }
    std::optional<Platform> platform = ParsePlatform(*Member(entry, "platform"));
    if (!platform) continue;
    manifest.platforms.push_back(std::move(*platform));
    Result<Descriptor> image = ParseDescriptor(entry, "index entry");
    manifest.only_image =
        manifest.platforms.size() == 1 && image ? std::optional(std::move(*image)) : std::nullopt;
  }
  if (!manifest.nested.empty() || !manifest.without_platform.empty()) manifest.only_image.reset();
  std::sort(manifest.platforms.begin(), manifest.platforms.end());
  manifest.platforms.erase(std::unique(manifest.platforms.begin(), manifest.platforms.end()),
                           manifest.platforms.end());
  if (manifest.platforms.size() > kMaxPlatforms)
    return Error::Invalid("index with more than 64 platforms");
  return manifest;
}

Result<Manifest> ParseImage(const Json& json) {
  const Json* config = Member(json, "config");
  if (config == nullptr) return Error::Invalid("manifest without config");
  Result<Descriptor> descriptor = ParseDescriptor(*config, "manifest's config");
  if (!descriptor) return descriptor.error();
  if (descriptor->size > kMaxManifestBytes) return Error::Invalid("config blob larger than 4 MiB");
  Manifest manifest;
  manifest.kind = Manifest::Kind::kImage;
  manifest.config = std::move(*descriptor);
  std::string config_type = Text(*config, "mediaType");
  bool image_config =
      config_type.empty() || config_type == kOciConfig || config_type == kDockerConfig;
  manifest.artifact = !image_config || !Text(json, "artifactType").empty();
  return manifest;
}

}  // namespace

std::optional<std::string> NormalizeArchitecture(std::string_view name) {
  std::string text = kube::AsciiLower(name);
  if (text == "x86_64" || text == "x86-64") return "amd64";
  if (text == "aarch64") return "arm64";
  if (text == "i386" || text == "i686") return "386";
  if (text == "armhf" || text == "armel") return "arm";
  if (!api::IsArchitectureName(text)) return std::nullopt;
  return text;
}

std::string WindowsBuild(std::string_view os_version) {
  constexpr size_t kMaxLength = 32;
  size_t end = 0;
  for (int number = 0; number < 3; ++number) {
    if (number > 0 && (end == os_version.size() || os_version[end++] != '.')) return "";
    size_t begin = end;
    while (end < os_version.size() && os_version[end] >= '0' && os_version[end] <= '9') ++end;
    if (end == begin) return "";
  }
  bool ends = end == os_version.size() || os_version[end] == '.';
  return ends && end <= kMaxLength ? std::string(os_version.substr(0, end)) : "";
}

Result<Manifest> ParseManifest(std::string_view body) {
  if (body.size() > kMaxManifestBytes) return Error::Invalid("manifest larger than 4 MiB");
  Result<Json> json = kube::ParseJson(body);
  if (!json) return json.error().Prefix("manifest");
  if (!json->is_object()) return Error::Invalid("manifest is not an object");

  const Json* version = Member(*json, "schemaVersion");
  bool schema1 = version != nullptr && version->is_number() && *version == 1;
  std::string media_type = Text(*json, "mediaType");
  if (schema1 || media_type.starts_with(kDockerSchema1)) {
    return Error::Invalid("unsupported manifest type: Docker schema 1");
  }
  // Two readers must not see two different images under one digest (CVE-2021-41190).
  bool index = Member(*json, "manifests") != nullptr;
  bool image = Member(*json, "config") != nullptr || Member(*json, "layers") != nullptr;
  if (index && image) return Error::Invalid("manifest is both an index and an image");

  if (IsIndexType(media_type)) return ParseIndex(*json);
  if (media_type == kOciManifest || media_type == kDockerManifest) return ParseImage(*json);
  if (index) return ParseIndex(*json);
  if (image) return ParseImage(*json);
  return Error::Invalid("neither an index nor a manifest");
}

Result<ImageConfig> ParseImageConfig(std::string_view body) {
  if (body.size() > kMaxManifestBytes) return Error::Invalid("config blob larger than 4 MiB");
  Result<Json> json = kube::ParseJson(body);
  if (!json) return json.error().Prefix("image config");
  ImageConfig config;
  const Json* run = Member(*json, "config");
  const Json* labels = run == nullptr ? nullptr : Member(*run, "Labels");
  config.bundle = labels != nullptr &&
                  !Text(*labels, "operators.operatorframework.io.bundle.mediatype.v1").empty();

  std::optional<Platform> platform = ParsePlatform(*json);
  if (!platform && !config.bundle) {
    return Error::Invalid(NormalizeArchitecture(Text(*json, "architecture"))
                              ? "image config names no operating system"
                              : "image config names no architecture");
  }
  config.platform = std::move(platform).value_or(Platform());
  return config;
}

}  // namespace inspection
