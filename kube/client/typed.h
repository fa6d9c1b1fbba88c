// SPDX-License-Identifier: Apache-2.0
// Typed calls on API objects. T is a protobuf kind or a JSON kind (see kube/types/resource.h).
//
//   Result<core::Pod> pod = co_await Get<core::Pod>(client, key);
//   pod->mutable_metadata()->...;
//   Result<core::Pod> written = co_await Update(client, *pod);  // guarded by its resourceVersion
//
// Errors of all calls: the codes of kube/base/error.h for the server's Status, kUnavailable and
// kDeadlineExceeded from the transport. Thread: the client's.
#pragma once

#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <vector>

#include "kube/client/client.h"
#include "kube/codec/codec.h"

namespace kube {

struct ListOptions {
  std::string ns;                // empty: all namespaces
  std::string label_selector;    // "a=b,c in (d,e)"
  std::string field_selector;    // "spec.nodeName="
  int limit = 500;               // objects per page; all pages are read
  std::string resource_version;  // "" newest, "0" any version in the server's cache
  std::chrono::milliseconds page_timeout{30'000};
};

struct DeleteOptions {
  std::string uid;               // precondition, unless empty
  std::string resource_version;  // precondition, unless empty
  std::string propagation = "Background";
};

template <class T>
struct TypedList {
  std::string resource_version;
  std::vector<T> items;
};

struct ApplyOptions {
  std::string field_manager;  // required
  bool force = true;
  std::string subresource;
};

// Appends "key=value" with the right separator and percent-encoding.
void AddQuery(std::string& target, std::string_view key, std::string_view value);

// Calls on a resource given at run time, with JSON objects.
Async<Unstructured> GetObject(Client& client, Resource resource, ObjectKey key);
Async<TypedList<Unstructured>> ListObjects(Client& client, Resource resource, ListOptions options);
Async<Unstructured> CreateObject(Client& client, Resource resource, Unstructured object);
// Server-side apply; creates a missing object. `object` has apiVersion, kind and metadata.
Async<Unstructured> ApplyObject(Client& client, Resource resource, Unstructured object,
                                ApplyOptions options);
// Overloads instead of default arguments: GCC 12 miscompiles a braced temporary inside a co_await
// expression.
// `content_type` is one of kJsonPatch, kMergePatch, kStrategicMergePatch.
Async<Unstructured> PatchObject(Client& client, Resource resource, ObjectKey key,
                                std::string_view content_type, Json patch, std::string subresource);
inline Async<Unstructured> PatchObject(Client& client, Resource resource, ObjectKey key,
                                       std::string_view content_type, Json patch) {
  return PatchObject(client, resource, std::move(key), content_type, std::move(patch),
                     std::string());
}
// Errors: also kNotFound if the object does not exist.
Async<> DeleteObject(Client& client, Resource resource, ObjectKey key, DeleteOptions options);
inline Async<> DeleteObject(Client& client, Resource resource, ObjectKey key) {
  return DeleteObject(client, resource, std::move(key), DeleteOptions());
}

// A call whose response is not decoded.
Async<> Send(Client& client, ApiRequest request);

// A call whose response is a T.
template <class T>
Async<T> CallFor(Client& client, ApiRequest request) {
  Result<ApiResponse> response = co_await client.Call(std::move(request));
  if (!response) co_return response.error();
  co_return Decode<T>(response->body);
}

template <class T>
Async<T> Get(Client& client, ObjectKey key) {
  return CallFor<T>(client, {.target = ResourceOf<T>::value.Path(key.ns, key.name),
                             .accept = std::string(kContentType<T>)});
}

template <class T>
Async<T> Create(Client& client, T object) {
  return CallFor<T>(client, {.method = Method::kPost,
                             .target = ResourceOf<T>::value.Path(object.metadata().namespace_()),
                             .content_type = std::string(kContentType<T>),
                             .accept = std::string(kContentType<T>),
                             .body = Encode(object)});
}

template <class T>
ApiRequest UpdateRequest(const T& object) {
  return {
      .method = Method::kPut,
      .target = ResourceOf<T>::value.Path(object.metadata().namespace_(), object.metadata().name()),
      .content_type = std::string(kContentType<T>),
      .accept = std::string(kContentType<T>),
      .body = Encode(object)};
}

// PUT: replaces the object. Errors: also kConflict if its resourceVersion is not the newest.
template <class T>
Async<T> Update(Client& client, T object) {
  return CallFor<T>(client, UpdateRequest(object));
}

// Update() without decoding the response, a third of the client's cost of a write. `object` is
// encoded before Replace() returns.
template <class T>
Async<> Replace(Client& client, const T& object) {
  return Send(client, UpdateRequest(object));
}

template <class T>
Async<> Delete(Client& client, ObjectKey key) {
  return DeleteObject(client, ResourceOf<T>::value, std::move(key));
}
template <class T>
Async<> Delete(Client& client, ObjectKey key, DeleteOptions options) {
  return DeleteObject(client, ResourceOf<T>::value, std::move(key), std::move(options));
}

// The target of a list or watch of `resource` under `options`, without paging.
std::string ListTarget(const Resource& resource, const ListOptions& options);

// A list by pages of encoded items. Pages are bounded in objects and in bytes: the first page is
// small, later pages grow while the objects are small, and a page larger than the client's
// max_body_bytes is requested again with fewer objects. Lists of the largest possible objects can
// therefore be read.
//
//   ListPages pages(client, kPods, options, /*protobuf=*/true);
//   while (pages.more()) {
//     Result<RawList> page = co_await pages.Next();
class ListPages {
 public:
  // `continue_token` resumes an earlier list.
  ListPages(Client& client, Resource resource, ListOptions options, bool protobuf,
            std::string continue_token = "");

  bool more() const { return more_; }
  // The token of the next page; "" before the first page and after the last.
  const std::string& continue_token() const { return continue_token_; }
  // Errors: also kExpired if the continue token is too old.
  Async<RawList> Next();

 private:
  Client& client_;
  Resource resource_;
  ListOptions options_;
  bool protobuf_;
  int limit_;  // of the next page, in objects
  bool more_ = true;
  std::string continue_token_;
};

// The objects of a page.
template <class T>
Result<std::vector<T>> DecodeItems(const RawList& page) {
  std::vector<T> objects;
  objects.reserve(page.items.size());
  for (const std::string& item : page.items) {
    Result<T> object = DecodeBare<T>(item);
    if (!object) return object.error();
    objects.push_back(std::move(*object));
  }
  return objects;
}

// All items of `resource`, decoded as T.
template <class T>
Async<TypedList<T>> ListAll(Client& client, Resource resource, ListOptions options) {
  TypedList<T> all;
  ListPages pages(client, resource, std::move(options), ProtobufKind<T>);
  while (pages.more()) {
    Result<RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    Result<std::vector<T>> objects = DecodeItems<T>(*page);
    if (!objects) co_return objects.error();
    std::move(objects->begin(), objects->end(), std::back_inserter(all.items));
    all.resource_version = page->resource_version;
  }
  co_return all;
}

template <class T>
Async<TypedList<T>> List(Client& client, ListOptions options) {
  return ListAll<T>(client, ResourceOf<T>::value, std::move(options));
}

}  // namespace kube
