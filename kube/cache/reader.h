// SPDX-License-Identifier: Apache-2.0
// Reader: the read-only view of a cache that a reconciler uses. Implemented by Informer, and by
// FakeReader (kube/testing) in tests.
#pragma once

#include <functional>
#include <optional>

#include "kube/types/resource.h"

namespace kube {

template <class T>
class Reader {
 public:
  virtual ~Reader() = default;

  // The cached object; nullopt if it is not in the cache. Protobuf kinds are decoded on each call:
  // keep the copy while it is needed.
  virtual std::optional<T> Get(const ObjectKey& key) const = 0;
  // False if the cache has only a stub because of its memory limit: Get() then identifies the
  // object, which must be read from the API server before deciding or writing.
  virtual bool Complete(const ObjectKey& /*key*/) const { return true; }
  // Visits all objects, in no particular order. `visit` must not change the cache; its reference is
  // valid during the call.
  virtual void ForEach(const std::function<void(const T&)>& visit) const = 0;
  virtual size_t size() const = 0;
  // True once the initial list is complete; before, an object missing from the cache may exist.
  virtual bool synced() const = 0;
};

using PodReader = Reader<core::Pod>;

}  // namespace kube
