// SPDX-License-Identifier: Apache-2.0
// FakeHistory: the last changes of a FakeStore. Watches resume from them, and older states are made
// from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "kube/testing/fake_object.h"
#include "kube/types/resource.h"

namespace kube {

// Objects of one collection, by namespace and name.
using FakeObjects = std::map<ObjectKey, FakeObject>;

struct FakeChange {
  uint64_t version;
  std::string collection;
  ObjectKey key;
  std::optional<FakeObject> before;
  std::optional<FakeObject> after;
};

class FakeHistory {
 public:
  // Keeps the last `limit` changes; older ones are compacted.
  explicit FakeHistory(size_t limit) : limit_(limit) {}

  // `change` is newer than all others.
  void Add(FakeChange change);
  // Forgets the changes up to `version`.
  void Compact(uint64_t version);

  // States before this version are unknown.
  uint64_t oldest() const { return oldest_; }
  size_t size() const { return changes_.size(); }
  // Calls `use` for each change after `version`, in their order.
  void ForEachAfter(uint64_t version, const std::function<void(const FakeChange&)>& use) const;
  // Turns `objects`, the newest state of `collection`, into that of `version`, which is at least
  // oldest().
  void Rewind(const std::string& collection, uint64_t version, FakeObjects& objects) const;

 private:
  size_t limit_;
  uint64_t oldest_ = 0;
  std::deque<FakeChange> changes_;
};

}  // namespace kube
