// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/foreign_objects.h"

#include <string>

#include "kube/client/typed.h"
#include "kube/types/unstructured.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Json;
using kube::Ok;
using kube::Result;
using kube::Unstructured;

constexpr std::string_view kGoOperatorsFinalizers = "finalizers.multiarch.openshift.io/";

bool IsForeign(const Unstructured& object) {
  auto label = object.metadata().labels().find(std::string(kManagedByLabel));
  return label == object.metadata().labels().end() || label->second != kManagedBy;
}

Async<> RemoveGoOperatorsFinalizers(kube::Client& client, kube::Resource resource,
                                    const Unstructured& object) {
  Json kept = Json::array();
  for (const std::string& finalizer : object.metadata().finalizers()) {
    if (!finalizer.starts_with(kGoOperatorsFinalizers)) kept.push_back(finalizer);
  }
  if (static_cast<int>(kept.size()) == object.metadata().finalizers_size()) co_return Ok();
  Json patch;
  patch["metadata"]["resourceVersion"] = object.metadata().resource_version();
  patch["metadata"]["finalizers"] = std::move(kept);
  kube::ObjectKey key = kube::KeyOf(object);
  Result<Unstructured> written = co_await kube::PatchObject(client, resource, std::move(key),
                                                            kube::kMergePatch, std::move(patch));
  if (!written && !IsNotFound(written)) co_return written.error();
  co_return Ok();
}

}  // namespace

Async<bool> RemoveForeign(kube::Client& client, kube::Resource resource, kube::ObjectKey key) {
  std::string name = std::string(resource.kind) + " " + key.ToString();
  kube::ListOptions options{.ns = key.ns, .field_selector = "metadata.name=" + key.name};
  Result<kube::TypedList<Unstructured>> found =
      co_await kube::ListObjects(client, resource, std::move(options));
  if (!found) co_return found.error().Prefix("read " + name);
  if (found->items.empty() || !IsForeign(found->items.front())) co_return false;

  const Unstructured& object = found->items.front();
  Result<> finalizers = co_await RemoveGoOperatorsFinalizers(client, resource, object);
  if (!finalizers) co_return finalizers.error().Prefix("remove the finalizers of " + name);
  kube::DeleteOptions as_seen;
  as_seen.uid = object.metadata().uid();
  Result<> deleted =
      co_await kube::DeleteObject(client, resource, std::move(key), std::move(as_seen));
  if (!deleted && !IsNotFound(deleted)) co_return deleted.error().Prefix("delete " + name);
  co_return true;
}

}  // namespace operator_
