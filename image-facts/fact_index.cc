// SPDX-License-Identifier: Apache-2.0
#include "image-facts/fact_index.h"

#include <openssl/rand.h>
#include <openssl/siphash.h>

#include <algorithm>
#include <array>
#include <map>

namespace image_facts {

using placement::SharedPlatforms;

uint64_t HashOf(std::string_view image, std::string_view scope) {
  static const std::array<uint64_t, 2> kKey = [] {
    std::array<uint64_t, 2> key{};
    RAND_bytes(reinterpret_cast<uint8_t*>(key.data()), sizeof(key));  // never fails in BoringSSL
    return key;
  }();
  std::string name(image);
  // No name of an image has a space.
  if (!scope.empty()) name.append(" ").append(scope);
  return SIPHASH_24(kKey.data(), reinterpret_cast<const uint8_t*>(name.data()), name.size());
}

kube::Result<FactIndex> FactIndex::FromJson(kube::Json object) {
  FactIndex index;
  index.metadata_ = kube::MetadataFromJson(object);
  index.configuration_ = ConfigurationOf(object);
  std::map<const void*, uint32_t> known;
  ForEachFact(object, [&](const StoredFact& fact) {
    auto [at, is_new] =
        known.try_emplace(fact.platforms.get(), static_cast<uint32_t>(index.platforms_.size()));
    if (is_new) index.platforms_.push_back(fact.platforms);
    int64_t read = fact.line.read.time_since_epoch().count();
    if (read > UINT32_MAX) return;
    index.entries_.push_back(
        {HashOf(fact.line.image, fact.scope), static_cast<uint32_t>(read), at->second});
  });
  std::sort(index.entries_.begin(), index.entries_.end(),
            [](const Entry& a, const Entry& b) { return a.hash < b.hash; });
  index.entries_.shrink_to_fit();
  return index;
}

std::optional<FactIndex::Fact> FactIndex::Find(uint64_t hash) const {
  auto found = std::lower_bound(entries_.begin(), entries_.end(), hash,
                                [](const Entry& entry, uint64_t h) { return entry.hash < h; });
  if (found == entries_.end() || found->hash != hash) return std::nullopt;
  return Fact{platforms_[found->platforms], Seconds(std::chrono::seconds(found->read))};
}

}  // namespace image_facts
