// SPDX-License-Identifier: Apache-2.0
// MetadataLists: the client of another one, for lists that need no more than the metadata of
// objects. The API server then sends the items as PartialObjectMetadata: a node has tens of KiB,
// its metadata a few.
//
//   MetadataLists metadata(client);
//   ListPages pages(metadata, kNodes, options, /*protobuf=*/true);
//   ...  DecodeBare<meta::PartialObject>(item)
#pragma once

#include <memory>
#include <utility>

#include "kube/base/async.h"
#include "kube/client/client.h"

namespace kube {

class MetadataLists final : public Client {
 public:
  // `client` outlives it.
  explicit MetadataLists(Client& client) : client_(client) {}

  // Client
  Async<ApiResponse> Call(ApiRequest request) override {
    request.accept += ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    return client_.Call(std::move(request));
  }
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) override {
    request.accept += ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    return client_.Watch(std::move(request));
  }

 private:
  Client& client_;
};

}  // namespace kube
