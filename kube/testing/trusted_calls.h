// SPDX-License-Identifier: Apache-2.0
// TrustedCalls: typed calls of a test itself on a FakeStore: immediate, as if by another client.
// They write status too, and ignore resourceVersions. A failure is a bug of the test and ends it.
//
//   TrustedCalls calls(store);
//   calls.Create<core::Pod>(MakePod("web"));
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/client/client.h"
#include "kube/client/typed.h"
#include "kube/testing/store_commit.h"

namespace kube {

class FakeStore;

class TrustedCalls {
 public:
  // `store` outlives it. `user`: for observers of the store.
  explicit TrustedCalls(FakeStore& store, std::string user = "test");

  template <class T>
  T Create(const T& object);
  // Replaces the object, ignoring resourceVersion.
  template <class T>
  T Update(const T& object);
  template <class T>
  std::optional<T> Get(const ObjectKey& key);
  // As DELETE: an object with finalizers stays, with a deletionTimestamp.
  template <class T>
  void Delete(const ObjectKey& key);
  // All objects of `ns` (empty: all namespaces), in order of their keys.
  template <class T>
  std::vector<T> List(std::string_view ns = "");
  // The same for kinds without a C++ type.
  Json CreateJson(const Resource& resource, const Json& object);
  Json UpdateJson(const Resource& resource, const Json& object);
  // UpdateJson() of an object with a JSON merge patch.
  Json PatchJson(const Resource& resource, const ObjectKey& key, const Json& patch);
  std::optional<Json> GetJson(const Resource& resource, const ObjectKey& key);
  void DeleteJson(const Resource& resource, const ObjectKey& key);
  std::vector<Json> ListJson(const Resource& resource, std::string_view ns = "");

 private:
  Result<ApiResponse> Try(const ApiRequest& request);
  ApiResponse Must(const ApiRequest& request);

  FakeStore& store_;
  Caller caller_;
};

template <class T>
T TrustedCalls::Create(const T& object) {
  ApiResponse response = Must({.method = Method::kPost,
                               .target = ResourceOf<T>::value.Path(object.metadata().namespace_()),
                               .content_type = std::string(kContentType<T>),
                               .accept = std::string(kContentType<T>),
                               .body = Encode(object)});
  return Decode<T>(response.body).value();
}

template <class T>
T TrustedCalls::Update(const T& object) {
  ApiResponse response = Must({.method = Method::kPut,
                               .target = ResourceOf<T>::value.Path(object.metadata().namespace_(),
                                                                   object.metadata().name()),
                               .content_type = std::string(kContentType<T>),
                               .accept = std::string(kContentType<T>),
                               .body = Encode(object)});
  return Decode<T>(response.body).value();
}

template <class T>
std::optional<T> TrustedCalls::Get(const ObjectKey& key) {
  ApiRequest request{.target = ResourceOf<T>::value.Path(key.ns, key.name),
                     .accept = std::string(kContentType<T>)};
  Result<ApiResponse> response = Try(request);
  if (IsNotFound(response)) return std::nullopt;
  return Decode<T>(response.value().body).value();
}

template <class T>
void TrustedCalls::Delete(const ObjectKey& key) {
  DeleteJson(ResourceOf<T>::value, key);
}

template <class T>
std::vector<T> TrustedCalls::List(std::string_view ns) {
  ApiResponse response =
      Must({.target = ResourceOf<T>::value.Path(ns), .accept = std::string(kContentType<T>)});
  Result<RawList> list =
      ProtobufKind<T> ? DecodeProtobufList(response.body) : DecodeJsonList(response.body);
  std::vector<T> objects;
  for (const std::string& item : list.value().items) objects.push_back(DecodeBare<T>(item).value());
  return objects;
}

}  // namespace kube
