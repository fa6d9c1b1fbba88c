// SPDX-License-Identifier: Apache-2.0
#include "image-facts/image_facts.h"

#include <algorithm>
#include <map>
#include <memory>

#include "image-facts/fact_scope.h"
#include "kube/types/list_at.h"

namespace image_facts {
namespace {

using kube::Json;
using placement::ImagePlatforms;
using placement::SharedPlatforms;

constexpr char kConfiguration[] = "configuration";
constexpr char kPlatforms[] = "platforms";
constexpr char kImages[] = "images";
constexpr char kScopes[] = "scopes";

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

// "" for one that is not valid.
std::vector<std::string_view> ScopesOf(const Json& object) {
  std::vector<std::string_view> all;
  for (const Json& item : kube::ListAt(object, kScopes)) {
    if (all.size() == kMaxFactsPerObject) break;
    std::string_view scope;
    if (item.is_string()) scope = item.get_ref<const std::string&>();
    all.push_back(scope.size() <= kMaxScope ? scope : "");
  }
  return all;
}

// The position of each text in a list without duplicates.
class TextList {
 public:
  size_t PositionOf(std::string text) {
    auto [at, is_new] = known_.try_emplace(std::move(text), known_.size());
    if (is_new) list_.push_back(at->first);
    return at->second;
  }
  Json TakeList() { return std::move(list_); }

 private:
  Json list_ = Json::array();
  std::map<std::string, size_t> known_;
};

}  // namespace

std::string ConfigurationOf(const Json& object) { return kube::StringAt(object, kConfiguration); }

void ForEachFact(const Json& object, const std::function<void(const StoredFact&)>& visit) {
  std::vector<SharedPlatforms> platforms = PlatformsOf(object);
  std::vector<std::string_view> scopes = ScopesOf(object);
  size_t left = kMaxFactsPerObject;
  for (const Json& item : kube::ListAt(object, kImages)) {
    if (left-- == 0) return;
    if (!item.is_string()) continue;
    std::optional<FactLine> line = FactLineFromText(item.get_ref<const std::string&>());
    if (!line || line->platforms >= platforms.size() || platforms[line->platforms] == nullptr)
      continue;
    std::string_view scope;
    if (line->scope) {
      if (*line->scope >= scopes.size() || scopes[*line->scope].empty()) continue;
      scope = scopes[*line->scope];
    }
    visit({*line, platforms[line->platforms], scope});
  }
}

kube::Result<ImageFacts> ImageFacts::FromJson(Json object) {
  ImageFacts parsed;
  parsed.metadata_ = kube::MetadataFromJson(object);
  parsed.configuration = ConfigurationOf(object);
  ForEachFact(object, [&](const StoredFact& fact) {
    parsed.facts.push_back({std::string(fact.line.image), std::string(fact.line.digest),
                            fact.platforms, fact.line.read, std::string(fact.scope)});
  });
  return parsed;
}

Json ImageFacts::ToJson() const {
  constexpr kube::Resource kResource = kube::ResourceOf<ImageFacts>::value;
  TextList platforms, scopes;
  Json images = Json::array();
  for (const ImageFact& fact : facts) {
    FactLine line{fact.image, fact.digest, platforms.PositionOf(PlatformsToText(*fact.platforms)),
                  fact.read};
    if (!fact.scope.empty()) line.scope = scopes.PositionOf(fact.scope);
    images.push_back(ToText(line));
  }
  return {{"apiVersion", kResource.ApiVersion()},
          {"kind", kResource.kind},
          {"metadata", kube::MetadataToJson(metadata_)},
          {kConfiguration, configuration},
          {kPlatforms, platforms.TakeList()},
          {kScopes, scopes.TakeList()},
          {kImages, std::move(images)}};
}

}  // namespace image_facts
