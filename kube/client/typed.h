// SPDX-License-Identifier: Apache-2.0
// Typed calls on API objects. T is a protobuf kind or a JSON kind (see kube/types/resource.h).
//
//   Result<core::Pod> pod = co_await Get<core::Pod>(client, {"ns", "web"});
//   pod->mutable_metadata()->...;
//   Result<core::Pod> written = co_await Update(client, *pod);       // PUT, guarded by the
//   resourceVersion in it
//
// Errors, all calls: those of kube/base/error.h as the server's Status says; kUnavailable and
// kDeadlineExceeded from the transport. Thread: the client's.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "kube/client/client.h"
#include "kube/codec/codec.h"

namespace kube {

struct ListOptions {
  std::string ns;                // empty: all namespaces
  std::string label_selector;    // "a=b,c in (d,e)"
  std::string field_selector;    // "spec.nodeName="
  int limit = 500;               // a page; all pages are read
  std::string resource_version;  // "" newest, "0" whatever the server's cache has
  std::chrono::milliseconds page_timeout{30'000};
};

struct DeleteOptions {
  std::string uid;               // precondition, where not empty
  std::string resource_version;  // precondition, where not empty
  std::string propagation = "Background";
};

template <class T>
struct TypedList {
  std::string resource_version;
  std::vector<T> items;
};

struct ApplyOptions {
  std::string field_manager = "multiarch-tuning-operator";
  bool force = true;
  std::string subresource;
};

// Appends "key=value" with the right separator and percent-encoding.
void AddQuery(std::string& target, std::string_view key, std::string_view value);

// Calls on a resource given at run time, with JSON objects.
Async<Unstructured> GetObject(Client& client, Resource resource, ObjectKey key);
Async<TypedList<Unstructured>> ListObjects(Client& client, Resource resource, ListOptions options);
Async<Unstructured> CreateObject(Client& client, Resource resource, Unstructured object);
// Server-side apply; creates what is not there. `object` names its apiVersion, kind and metadata.
Async<Unstructured> ApplyObject(Client& client, Resource resource, Unstructured object,
                                ApplyOptions options);
// Overloads instead of default arguments: GCC 12 miscompiles a braced temporary inside a co_await
// expression.
inline Async<Unstructured> ApplyObject(Client& client, Resource resource, Unstructured object) {
  return ApplyObject(client, resource, std::move(object), ApplyOptions());
}
// `content_type` is one of kJsonPatch, kMergePatch, kStrategicMergePatch.
Async<Unstructured> PatchObject(Client& client, Resource resource, ObjectKey key,
                                std::string_view content_type, Json patch, std::string subresource);
inline Async<Unstructured> PatchObject(Client& client, Resource resource, ObjectKey key,
                                       std::string_view content_type, Json patch) {
  return PatchObject(client, resource, std::move(key), content_type, std::move(patch),
                     std::string());
}
// kNotFound if there is none: deleting twice is for the caller to forgive.
Async<> DeleteObject(Client& client, Resource resource, ObjectKey key, DeleteOptions options);
inline Async<> DeleteObject(Client& client, Resource resource, ObjectKey key) {
  return DeleteObject(client, resource, std::move(key), DeleteOptions());
}

// A call whose answer is of no interest: it is not decoded.
Async<> Send(Client& client, ApiRequest request);

// A call whose answer is a T.
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

// PUT: replaces the object; kConflict unless its resourceVersion is the newest.
template <class T>
Async<T> Update(Client& client, T object) {
  return CallFor<T>(client, UpdateRequest(object));
}

// Update() for callers whom the written object does not interest: on the way of every pod that is a
// third of what a write costs us. `object` is encoded before this returns.
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

// A list, a page at a time, its items still encoded. Pages are bounded in bytes as well as in
// objects: the first is small, the next grow as long as the objects are small, and one that is too
// large for the client (max_body_bytes) is asked for again with fewer objects. So a list of the
// largest objects that there can be is read too, some at a time.
//
//   ListPages pages(client, kPods, options, /*protobuf=*/true);
//   while (pages.more()) {
//     Result<RawList> page = co_await pages.Next();
class ListPages {
 public:
  // `continue_token` of a list whose pages before it were read already.
  ListPages(Client& client, Resource resource, ListOptions options, bool protobuf,
            std::string continue_token = "");

  bool more() const { return more_; }
  // Of the next page; "" before the first and after the last.
  const std::string& continue_token() const { return continue_token_; }
  // Errors: kExpired when the list has become too old for its next page.
  Async<RawList> Next();

 private:
  Client& client_;
  Resource resource_;
  ListOptions options_;
  bool protobuf_;
  int limit_;  // of the next page
  bool more_ = true;
  std::string continue_token_;
};

// All items of `resource`, whose objects are Ts.
template <class T>
Async<TypedList<T>> ListAll(Client& client, Resource resource, ListOptions options) {
  TypedList<T> all;
  ListPages pages(client, resource, std::move(options), ProtobufKind<T>);
  while (pages.more()) {
    Result<RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      Result<T> object = DecodeBare<T>(item);
      if (!object) co_return object.error();
      all.items.push_back(std::move(*object));
    }
    all.resource_version = page->resource_version;
  }
  co_return all;
}

template <class T>
Async<TypedList<T>> List(Client& client, ListOptions options) {
  return ListAll<T>(client, ResourceOf<T>::value, std::move(options));
}

}  // namespace kube
