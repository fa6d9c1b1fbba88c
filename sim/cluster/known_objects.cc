// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/known_objects.h"

#include <algorithm>

namespace sim {

using namespace std::chrono_literals;

KnownObjects::KnownObjects(Loop& loop, Random random, std::set<std::string> collections)
    : loop_(loop), random_(random) {
  for (const std::string& name : collections) collections_[name] = std::make_shared<Collection>();
}

void KnownObjects::OnCommit(const kube::StoreCommit& commit) {
  auto found = collections_.find(commit.collection);
  if (found == collections_.end()) return;
  const std::shared_ptr<Collection>& collection = found->second;
  const kube::Duration longest = delayed_.contains(commit.collection) ? delay_ : kLatest;
  collection->last = std::max(collection->last, loop_.now() + random_.Between(0s, longest));
  loop_.At(collection->last, [collection, key = commit.key, after = commit.after] {
    if (after) {
      collection->objects.insert_or_assign(key, after);
    } else {
      collection->objects.erase(key);
    }
  });
}

const KnownObjects::Objects& KnownObjects::Of(const std::string& collection) const {
  return collections_.at(collection)->objects;
}

std::shared_ptr<const kube::Json> KnownObjects::Get(const std::string& collection,
                                                    const kube::ObjectKey& key) const {
  const Objects& objects = Of(collection);
  auto found = objects.find(key);
  return found == objects.end() ? nullptr : found->second;
}

}  // namespace sim
