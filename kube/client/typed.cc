// SPDX-License-Identifier: Apache-2.0
#include "kube/client/typed.h"

namespace kube {
namespace {

Async<Unstructured> CallForObject(Client& client, ApiRequest request) {
  Result<ApiResponse> response = co_await client.Call(std::move(request));
  if (!response) co_return response.error();
  co_return Decode<Unstructured>(response->body);
}

}  // namespace

void AddQuery(std::string& target, std::string_view key, std::string_view value) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  target += target.find('?') == std::string::npos ? '?' : '&';
  target += key;
  target += '=';
  for (unsigned char c : value) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
                 c == '.' || c == '~';
    if (plain) {
      target += static_cast<char>(c);
    } else {
      target += '%';
      target += kHex[c >> 4];
      target += kHex[c & 15];
    }
  }
}

std::string ListTarget(const Resource& resource, const ListOptions& options) {
  std::string target = resource.Path(options.ns);
  if (!options.label_selector.empty()) AddQuery(target, "labelSelector", options.label_selector);
  if (!options.field_selector.empty()) AddQuery(target, "fieldSelector", options.field_selector);
  if (!options.resource_version.empty()) AddQuery(target, "resourceVersion", options.resource_version);
  return target;
}

Async<Unstructured> GetObject(Client& client, Resource resource, ObjectKey key) {
  return CallForObject(client, {.target = resource.Path(key.ns, key.name)});
}

Async<TypedList<Unstructured>> ListObjects(Client& client, Resource resource, ListOptions options) {
  TypedList<Unstructured> all;
  std::string continue_token;
  do {
    std::string target = ListTarget(resource, options);
    AddQuery(target, "limit", std::to_string(options.limit));
    if (!continue_token.empty()) AddQuery(target, "continue", continue_token);
    ApiRequest request{.target = std::move(target)};
    Result<ApiResponse> response = co_await client.Call(std::move(request));
    if (!response) co_return response.error();
    Result<RawList> page = DecodeJsonList(response->body);
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      Result<Unstructured> object = DecodeBare<Unstructured>(item);
      if (!object) co_return object.error();
      all.items.push_back(std::move(*object));
    }
    all.resource_version = page->resource_version;
    continue_token = page->continue_token;
  } while (!continue_token.empty());
  co_return all;
}

Async<Unstructured> CreateObject(Client& client, Resource resource, Unstructured object) {
  return CallForObject(client, {.method = Method::kPost,
                                .target = resource.Path(object.metadata().namespace_()),
                                .content_type = std::string(kJson),
                                .body = Encode(object)});
}

Async<Unstructured> ApplyObject(Client& client, Resource resource, Unstructured object, ApplyOptions options) {
  std::string target =
      resource.Path(object.metadata().namespace_(), object.metadata().name(), options.subresource);
  AddQuery(target, "fieldManager", options.field_manager);
  if (options.force) AddQuery(target, "force", "true");
  return CallForObject(client, {.method = Method::kPatch,
                                .target = std::move(target),
                                .content_type = std::string(kApplyPatch),
                                .body = Encode(object)});
}

Async<Unstructured> PatchObject(Client& client, Resource resource, ObjectKey key, std::string_view content_type,
                                Json patch, std::string subresource) {
  return CallForObject(client, {.method = Method::kPatch,
                                .target = resource.Path(key.ns, key.name, subresource),
                                .content_type = std::string(content_type),
                                .body = patch.dump()});
}

Async<> DeleteObject(Client& client, Resource resource, ObjectKey key, DeleteOptions options) {
  Json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", options.propagation}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) body["preconditions"]["resourceVersion"] = options.resource_version;
  ApiRequest request{.method = Method::kDelete,
                     .target = resource.Path(key.ns, key.name),
                     .content_type = std::string(kJson),
                     .body = body.dump()};
  Result<ApiResponse> response = co_await client.Call(std::move(request));
  if (!response) co_return response.error();
  co_return Ok();
}

}  // namespace kube
