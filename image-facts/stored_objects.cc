// SPDX-License-Identifier: Apache-2.0
#include "image-facts/stored_objects.h"

#include <utility>

#include "kube/client/typed.h"

namespace image_facts {

using kube::Async;
using kube::Result;

Async<std::vector<ImageFacts>> StoredObjects::Load() {
  co_await kube::IgnoreCancellation();
  kube::ListOptions options{.ns = ns_, .limit = 8};
  auto objects = co_await kube::List<ImageFacts>(client_, std::move(options));
  if (!objects) co_return objects.error().Prefix("list ImageFacts");
  versions_.clear();
  for (const ImageFacts& object : objects->items)
    versions_[object.metadata().name()] = object.metadata().resource_version();
  loaded_ = true;
  co_return std::move(objects->items);
}

Async<> StoredObjects::Write(ImageFacts object) {
  co_await kube::IgnoreCancellation();
  const std::string name = object.metadata().name();
  object.mutable_metadata()->set_namespace_(ns_);
  auto stored = versions_.find(name);
  Result<ImageFacts> written = kube::Error::Internal("not written");
  if (stored == versions_.end()) {
    object.mutable_metadata()->clear_resource_version();
    written = co_await kube::Create(client_, std::move(object));
  } else {
    object.mutable_metadata()->set_resource_version(stored->second);
    written = co_await kube::Update(client_, std::move(object));
  }
  if (written) {
    versions_[name] = written->metadata().resource_version();
    co_return kube::Ok();
  }
  if (IsNotFound(written) || IsConflict(written) || FailedWith(written, kube::Code::kAlreadyExists))
    loaded_ = false;
  co_return written.error().Prefix("write ImageFacts " + name);
}

Async<bool> StoredObjects::WriteDue(FactBook& book, kube::Clock& clock) {
  co_await kube::IgnoreCancellation();
  std::optional<ImageFacts> object = book.TakeDue(clock.Now());
  if (!object) co_return false;
  if (owner_) *object->mutable_metadata()->add_owner_references() = *owner_;
  const std::string name = object->metadata().name();
  Result<> written = co_await Write(std::move(*object));
  if (written) co_return true;
  book.Retry(name, clock.Now());
  co_return written.error();
}

}  // namespace image_facts
