// SPDX-License-Identifier: Apache-2.0
// Handed<T>: an object of a JSON kind that the handler of an informer takes, so that the informer
// keeps only its key and version. For a store that keeps less than the whole objects.
//
//   Informer<Handed<Placement>> placements(client, clock, {.resource = kPlacements});
//   FollowHanded(placements, [&](Placement placement) { store.Put(std::move(placement)); },
//                [&](const ObjectKey& key) { store.Remove(key); });
#pragma once

#include <memory>
#include <utility>

#include "kube/base/error.h"
#include "kube/cache/informer.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace kube {

template <class T>
struct Handed {
  static Result<Handed> FromJson(const Json& json) {
    Result<T> read = T::FromJson(json);
    if (!read) return read.error();
    return Handed{std::make_shared<T>(std::move(*read))};
  }
  // nullptr once it was taken.
  mutable std::shared_ptr<T> object;
};

// Calls `put` with each object that was added or changed, and `remove` with the key of each that
// was deleted. They run inside the watch, as every handler does.
template <class T, class Put, class Remove>
void FollowHanded(Informer<Handed<T>>& informer, Put put, Remove remove) {
  informer.OnChange([remove](EventType type, const ObjectKey& key) {
    if (type == EventType::kDeleted) remove(key);
  });
  informer.OnEvent([put](EventType type, const Handed<T>& handed) {
    std::shared_ptr<T> object = std::exchange(handed.object, nullptr);
    if (type != EventType::kDeleted && object != nullptr) put(std::move(*object));
  });
}

}  // namespace kube
