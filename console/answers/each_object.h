// SPDX-License-Identifier: Apache-2.0
// Reads objects one by one: an answer keeps only what it makes of them. Thread: the client's.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "kube/base/async.h"
#include "kube/client/typed.h"
#include "kube/types/unstructured.h"

namespace console {

using VisitObject = std::function<void(const kube::Json& object)>;

// Visits all objects of a list. The references outlive the call. Errors: those of the list, after
// the pages that were read before.
inline kube::Async<> ForEachObject(kube::Client& client, const kube::Resource& resource,
                                   kube::ListOptions options, const VisitObject& visit) {
  kube::ListPages pages(client, resource, std::move(options), /*protobuf=*/false);
  while (pages.more()) {
    kube::Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      kube::Result<kube::Json> object = kube::ParseJson(item);
      if (object) visit(*object);
    }
  }
  co_return kube::Ok();
}

}  // namespace console
