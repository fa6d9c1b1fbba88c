// SPDX-License-Identifier: Apache-2.0
// Reader: what a reconciler needs of a cache. An Informer is one, and so is a test's FakeReader
// (kube/testing).
#pragma once

#include <functional>
#include <optional>

#include "kube/types/resource.h"

namespace kube {

template <class T>
class Reader {
 public:
  virtual ~Reader() = default;

  // The object as last seen; nullopt if it is not there, as far as the cache knows. Protobuf kinds
  // are decoded for each caller: keep the copy while it is needed.
  virtual std::optional<T> Get(const ObjectKey& key) const = 0;
  // False if the cache has no room for the whole object: Get() has what tells it from others, and
  // the object itself is to be read from the API server before anything is decided or written.
  virtual bool Complete(const ObjectKey& /*key*/) const { return true; }
  // All objects, in no order. `visit` must not change the cache; references end with each visit.
  virtual void ForEach(const std::function<void(const T&)>& visit) const = 0;
  virtual size_t size() const = 0;
  // True once the cache has had all objects; before, one that is not there may still exist.
  virtual bool synced() const = 0;
};

using PodReader = Reader<core::Pod>;

}  // namespace kube
