// SPDX-License-Identifier: Apache-2.0
// SharedFacts: what the trusted members of a fleet know about images, for all members. Pure.
//
//   SharedFacts facts(limits);
//   std::vector<SharedFacts::Dispute> disputes = facts.Add("cluster1", object, clock.Now(), wall);
//   while (std::optional<ImageFacts> object = facts.book().TakeDue(clock.Now())) { ... write it ...
//   }
//
// Only facts that registries tell everybody are shared. Of two about one name, the one that was
// read last counts. A digest is of one content: if two members say that it has different platforms,
// one is wrong, and nothing counts that has this digest, for kDisputedFor.
//
// Bounds: those of the book, where each member has its share; kMaxDisputes.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "image-facts/fact_book.h"
#include "image-facts/image_fact.h"
#include "image-facts/image_facts.h"
#include "kube/base/clock.h"
#include "placement/platforms.h"

namespace fleet {

inline constexpr std::chrono::hours kDisputedFor{1};
inline constexpr size_t kMaxDisputes = 4'096;

// Whether the fact may leave its cluster, and counts for some time yet: `now` is the time of the
// wall clock.
bool MayBeShared(const image_facts::ImageFact& fact, image_facts::Seconds now);
// Adds the fact to those of `owner`, as the one that was used last, unless one as new is known.
void AddNewer(image_facts::FactBook& book, image_facts::ImageFact fact, const std::string& owner,
              kube::TimePoint now);
// Drops the facts that may not be shared any more. That is due at `due`: nobody uses them.
void DropStale(image_facts::FactBook& book, image_facts::Seconds now, kube::TimePoint due);

class SharedFacts {
 public:
  struct Dispute {
    std::string digest;
    std::string image;  // of the fact that says otherwise
    std::string cluster;
    std::string other;  // the cluster whose fact was known
  };

  explicit SharedFacts(const image_facts::FactLimits& limits) : book_(limits) {}

  // Adds what `cluster` has published in an object, untrusted. Returns: the new disputes.
  std::vector<Dispute> Add(const std::string& cluster, const image_facts::ImageFacts& object,
                           kube::TimePoint now, image_facts::Seconds wall);
  // The cluster has left, or is not trusted any more.
  void Remove(const std::string& cluster, kube::TimePoint now) { book_.EraseAll(cluster, now); }

  image_facts::FactBook& book() { return book_; }

 private:
  struct Content {
    placement::SharedPlatforms platforms;
    std::string cluster;  // that has said so first
  };

  // Forgets what no fact has any more.
  void Prune();

  image_facts::FactBook book_;
  // By digest: of the facts of the book, and of some that it has dropped since.
  std::unordered_map<std::string, Content> contents_;
  // By digest: until when.
  std::unordered_map<std::string, kube::TimePoint> disputed_;
};

}  // namespace fleet
