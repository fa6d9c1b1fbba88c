// SPDX-License-Identifier: Apache-2.0
#include "fleet/image-facts/shared_facts.h"

#include <optional>
#include <unordered_set>
#include <utility>

#include "image-facts/lifetime.h"

namespace fleet {

using image_facts::ImageFact;
using image_facts::Seconds;
using kube::TimePoint;

bool MayBeShared(const ImageFact& fact, Seconds now) {
  if (!fact.scope.empty() || fact.digest.empty()) return false;
  if (fact.read > now + image_facts::kClockSkew) return false;
  const size_t at = fact.image.find('@');
  if (at != std::string::npos && std::string_view(fact.image).substr(at + 1) != fact.digest)
    return false;
  std::optional<std::chrono::seconds> lifetime = image_facts::LifetimeOf({fact.image});
  return !lifetime || now - fact.read < *lifetime;
}

void AddNewer(image_facts::FactBook& book, ImageFact fact, const std::string& owner,
              TimePoint now) {
  const std::string image = fact.image;
  const ImageFact* known = book.Find({image});
  if (known != nullptr && known->read >= fact.read) return;
  if (book.Put(std::move(fact), owner, now)) book.Use({image}, owner);
}

void DropStale(image_facts::FactBook& book, Seconds now, TimePoint due) {
  std::vector<std::string> stale;
  book.ForEach([&](const ImageFact& fact) {
    if (!MayBeShared(fact, now)) stale.push_back(fact.image);
  });
  for (const std::string& image : stale) book.Erase({image}, due);
}

std::vector<SharedFacts::Dispute> SharedFacts::Add(const std::string& cluster,
                                                   const image_facts::ImageFacts& object,
                                                   TimePoint now, Seconds wall) {
  std::erase_if(disputed_, [&](const auto& dispute) { return dispute.second <= now; });
  std::vector<Dispute> disputes;
  for (const ImageFact& fact : object.facts) {
    if (!MayBeShared(fact, wall)) continue;
    if (disputed_.contains(fact.digest)) continue;
    auto [content, is_new] = contents_.try_emplace(fact.digest, Content{fact.platforms, cluster});
    if (!is_new && *content->second.platforms != *fact.platforms) {
      disputes.push_back({fact.digest, fact.image, cluster, content->second.cluster});
      contents_.erase(content);
      // Without room, the fact of the other member is dropped all the same, once.
      if (disputed_.size() < kMaxDisputes) disputed_[fact.digest] = now + kDisputedFor;
      continue;
    }
    AddNewer(book_, fact, cluster, now);
  }
  if (!disputes.empty()) {
    std::unordered_set<std::string_view> digests;
    for (const Dispute& dispute : disputes) digests.insert(dispute.digest);
    std::vector<std::string> images;
    book_.ForEach([&](const ImageFact& fact) {
      if (digests.contains(fact.digest)) images.push_back(fact.image);
    });
    for (const std::string& image : images) book_.Erase({image}, now);
  }
  Prune();
  return disputes;
}

void SharedFacts::Prune() {
  if (contents_.size() <= 2 * book_.size() + image_facts::kMaxFactsPerObject) return;
  std::unordered_set<std::string_view> used;
  book_.ForEach([&](const ImageFact& fact) { used.insert(fact.digest); });
  std::erase_if(contents_, [&](const auto& content) { return !used.contains(content.first); });
}

}  // namespace fleet
