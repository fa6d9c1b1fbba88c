// SPDX-License-Identifier: Apache-2.0
#include "image-facts/exchange.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "image-facts/fact_book.h"
#include "image-facts/lifetime.h"
#include "kube/types/version_number.h"

namespace image_facts {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

// The largest text of facts that are read: more than all objects of a cluster have.
constexpr size_t kMaxText = 16u << 20;
constexpr size_t kMaxObjects = 64;

// Whether a write of `fact` would give nothing, or hardly more time for which it counts.
bool IsKnown(const ImageFact& known, const ImageFact& fact) {
  if (known.read >= fact.read) return true;
  if (!SaysTheSame(known, fact)) return false;
  auto lifetime = LifetimeOf({fact.image, fact.scope});
  return !lifetime || fact.read - known.read < *lifetime / 2;
}

}  // namespace

std::string ToExport(const std::vector<ImageFacts>& objects) {
  std::map<std::string, ImageFact> newest;
  for (const ImageFacts& object : objects) {
    for (const ImageFact& fact : object.facts) {
      if (!fact.scope.empty()) continue;
      auto [known, is_new] = newest.try_emplace(fact.image, fact);
      if (!is_new && known->second.read < fact.read) known->second = fact;
    }
  }
  Json all = Json::array();
  ImageFacts part;
  for (auto next = newest.begin(); next != newest.end();) {
    part.facts.push_back(next->second);
    if (++next == newest.end() || part.facts.size() == kMaxFactsPerObject) {
      Json object = part.ToJson();
      all.push_back({{"platforms", object["platforms"]}, {"images", object["images"]}});
      part.facts.clear();
    }
  }
  return kube::DumpJson(Json{{"facts", std::move(all)}}) + "\n";
}

Result<std::vector<ImageFact>> FromExport(std::string_view text) {
  if (text.size() > kMaxText) return Error::Invalid("the text is too large");
  Result<Json> json = kube::ParseJson(text);
  if (!json) return json.error();
  const Json* parts = kube::Find(*json, "facts");
  if (parts == nullptr || !parts->is_array() || parts->size() > kMaxObjects)
    return Error::Invalid("the text has no list \"facts\"");
  std::vector<ImageFact> facts;
  for (const Json& part : *parts) {
    ForEachFact(part, [&](const StoredFact& fact) {
      if (fact.scope.empty()) {
        facts.push_back({std::string(fact.line.image), std::string(fact.line.digest),
                         fact.platforms, fact.line.read});
      }
    });
  }
  return facts;
}

Result<Merged> Merge(std::vector<ImageFacts> stored, const std::vector<ImageFact>& facts) {
  auto newest =
      std::max_element(stored.begin(), stored.end(), [](const ImageFacts& a, const ImageFacts& b) {
        return kube::VersionNumber(a.metadata().resource_version()) <
               kube::VersionNumber(b.metadata().resource_version());
      });
  if (newest == stored.end()) {
    return Error::NotFound(
        "the cluster controller has no ImageFacts object yet: it writes one while the "
        "ClusterPodPlacementConfig has knownImages: PlaceAtCreation");
  }
  // The book has the controller's limits, and knows what is stored where.
  FactBook book;
  const kube::TimePoint now{};
  const std::string configuration = newest->configuration;
  book.Reset(configuration, now);
  std::map<std::string, const ImageFacts*> by_name;
  for (const ImageFacts& object : stored) {
    if (object.configuration != configuration) continue;
    book.Restore(object, now);
    by_name[object.metadata().name()] = &object;
  }
  Merged merged;
  for (const ImageFact& fact : facts) {
    const ImageFact* known = book.Find({fact.image});
    if (known != nullptr && IsKnown(*known, fact)) {
      ++merged.known;
    } else if (known == nullptr && !book.HasRoomFor(fact)) {
      ++merged.left_out;
    } else if (book.Put(fact, "", now)) {
      ++merged.added;
    } else {
      ++merged.left_out;
    }
  }
  while (std::optional<ImageFacts> object = book.TakeDue(kube::TimePoint::max())) {
    auto before = by_name.find(object->metadata().name());
    if (before != by_name.end()) {
      *object->mutable_metadata() = before->second->metadata();
    } else {
      // It goes with the ClusterPodPlacementConfig, as the others.
      *object->mutable_metadata()->mutable_owner_references() =
          newest->metadata().owner_references();
    }
    merged.objects.push_back(std::move(*object));
  }
  return merged;
}

}  // namespace image_facts
