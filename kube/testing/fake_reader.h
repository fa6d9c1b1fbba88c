// SPDX-License-Identifier: Apache-2.0
// FakeReader: a cache with the objects that the test puts into it.
//
//   FakeReader<core::Pod> pods;
//   pods.Put(MakePod("web").Gate(kGate));
#pragma once

#include <map>
#include <set>

#include "kube/cache/reader.h"

namespace kube {

template <class T>
class FakeReader final : public Reader<T> {
 public:
  void Put(const T& object) { objects_.insert_or_assign(KeyOf(object), object); }
  // Adds an object that is only a stub (see Reader::Complete()).
  void PutStub(const T& stub) {
    Put(stub);
    stubs_.insert(KeyOf(stub));
  }
  void Remove(const ObjectKey& key) { objects_.erase(key); }
  void set_synced(bool synced) { synced_ = synced; }

  // Reader
  std::optional<T> Get(const ObjectKey& key) const override {
    auto found = objects_.find(key);
    if (found == objects_.end()) return std::nullopt;
    return found->second;
  }
  bool Complete(const ObjectKey& key) const override { return !stubs_.contains(key); }
  void ForEach(const std::function<void(const T&)>& visit) const override {
    for (const auto& [key, object] : objects_) visit(object);
  }
  size_t size() const override { return objects_.size(); }
  bool synced() const override { return synced_; }

 private:
  std::map<ObjectKey, T> objects_;
  std::set<ObjectKey> stubs_;
  bool synced_ = true;
};

}  // namespace kube
