// SPDX-License-Identifier: Apache-2.0
// StoredObjects: the ImageFacts objects of one namespace, for whoever writes them.
//
//   Result<std::vector<ImageFacts>> all = co_await objects.Load();
//   Result<> written = co_await objects.Write(std::move(object));
//   Result<bool> wrote = co_await objects.WriteDue(book, clock);
//
// Thread: the client's.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "image-facts/fact_book.h"
#include "image-facts/image_facts.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"

namespace image_facts {

class StoredObjects {
 public:
  // `client` outlives it.
  StoredObjects(kube::Client& client, std::string ns) : client_(client), ns_(std::move(ns)) {}

  // All objects. Errors: the client's.
  kube::Async<std::vector<ImageFacts>> Load();
  // Creates the object, or replaces the one that was loaded or written last. Errors: the client's;
  // after kConflict, kNotFound and kAlreadyExists, loaded() is false.
  kube::Async<> Write(ImageFacts object);
  // The same for the object of `book` that is due first; after an error, it is due again. Returns:
  // whether one was due.
  kube::Async<bool> WriteDue(FactBook& book, kube::Clock& clock);
  // Of what WriteDue() writes.
  void SetOwner(kube::meta::OwnerReference owner) { owner_ = std::move(owner); }

  // False before Load(), and when somebody else has changed an object.
  bool loaded() const { return loaded_; }
  void Forget() { loaded_ = false; }
  // By name, the resourceVersion of each object.
  const std::map<std::string, std::string>& versions() const { return versions_; }

 private:
  kube::Client& client_;
  std::string ns_;
  bool loaded_ = false;
  std::optional<kube::meta::OwnerReference> owner_;
  std::map<std::string, std::string> versions_;
};

}  // namespace image_facts
