// SPDX-License-Identifier: Apache-2.0
#include "image-facts/image_facts.h"

#include <algorithm>
#include <map>
#include <memory>

#include "kube/types/list_at.h"

namespace image_facts {
namespace {

using kube::Json;
using placement::ImagePlatforms;
using placement::SharedPlatforms;

constexpr char kConfiguration[] = "configuration";
constexpr char kPlatforms[] = "platforms";
constexpr char kImages[] = "images";

// nullptr for one that is not valid.
std::vector<SharedPlatforms> PlatformsOf(const Json& object) {
  std::vector<SharedPlatforms> all;
  for (const Json& item : kube::ListAt(object, kPlatforms)) {
    if (all.size() == kMaxFactsPerObject) break;
    std::optional<ImagePlatforms> platforms;
    if (item.is_string()) platforms = PlatformsFromText(item.get_ref<const std::string&>());
    all.push_back(platforms ? std::make_shared<const ImagePlatforms>(std::move(*platforms))
                            : nullptr);
  }
  return all;
}

}  // namespace

std::string ConfigurationOf(const Json& object) { return kube::StringAt(object, kConfiguration); }

void ForEachFact(const Json& object,
                 const std::function<void(const FactLine&, const SharedPlatforms&)>& visit) {
  std::vector<SharedPlatforms> platforms = PlatformsOf(object);
  size_t left = kMaxFactsPerObject;
  for (const Json& item : kube::ListAt(object, kImages)) {
    if (left-- == 0) return;
    if (!item.is_string()) continue;
    std::optional<FactLine> line = FactLineFromText(item.get_ref<const std::string&>());
    if (!line || line->platforms >= platforms.size() || platforms[line->platforms] == nullptr)
      continue;
    visit(*line, platforms[line->platforms]);
  }
}

kube::Result<ImageFacts> ImageFacts::FromJson(Json object) {
  ImageFacts parsed;
  parsed.metadata_ = kube::MetadataFromJson(object);
  parsed.configuration = ConfigurationOf(object);
  ForEachFact(object, [&](const FactLine& line, const SharedPlatforms& platforms) {
    parsed.facts.push_back(
        {std::string(line.image), std::string(line.digest), platforms, line.read});
  });
  return parsed;
}

Json ImageFacts::ToJson() const {
  constexpr kube::Resource kResource = kube::ResourceOf<ImageFacts>::value;
  Json platforms = Json::array();
  Json images = Json::array();
  std::map<std::string, size_t> known;
  for (const ImageFact& fact : facts) {
    std::string text = PlatformsToText(*fact.platforms);
    auto [at, is_new] = known.try_emplace(std::move(text), known.size());
    if (is_new) platforms.push_back(at->first);
    images.push_back(ToText(FactLine{fact.image, fact.digest, at->second, fact.read}));
  }
  return {{"apiVersion", kResource.ApiVersion()},
          {"kind", kResource.kind},
          {"metadata", kube::MetadataToJson(metadata_)},
          {kConfiguration, configuration},
          {kPlatforms, std::move(platforms)},
          {kImages, std::move(images)}};
}

}  // namespace image_facts
