// SPDX-License-Identifier: Apache-2.0
#include "kube/client/typed.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kube/base/percent.h"
#include "kube/http/body_too_large.h"

namespace kube {

void AddQuery(std::string& target, std::string_view key, std::string_view value) {
  target += target.find('?') == std::string::npos ? '?' : '&';
  target += key;
  target += '=';
  target += PercentEncode(value);
}

std::string ListTarget(const Resource& resource, const ListOptions& options) {
  std::string target = resource.Path(options.ns);
  if (!options.label_selector.empty()) AddQuery(target, "labelSelector", options.label_selector);
  if (!options.field_selector.empty()) AddQuery(target, "fieldSelector", options.field_selector);
  if (!options.resource_version.empty())
    AddQuery(target, "resourceVersion", options.resource_version);
  return target;
}

Async<> Send(Client& client, ApiRequest request) {
  Result<ApiResponse> response = co_await client.Call(std::move(request));
  if (!response) co_return response.error();
  co_return Ok();
}

Async<Unstructured> GetObject(Client& client, Resource resource, ObjectKey key) {
  return CallFor<Unstructured>(client, {.target = resource.Path(key.ns, key.name)});
}

namespace {

// Objects of the first page. Only a page of the largest possible objects is requested twice.
constexpr int kFirstPage = 16;
// The intended size of a page, estimated from the objects of the page before.
constexpr int64_t kPageBytes = 2 * 1024 * 1024;
constexpr int kGrowth = 4;

}  // namespace

ListPages::ListPages(Client& client, Resource resource, ListOptions options, bool protobuf,
                     std::string continue_token)
    : client_(client),
      resource_(resource),
      options_(std::move(options)),
      protobuf_(protobuf),
      limit_(std::clamp(options_.limit, 1, kFirstPage)),
      continue_token_(std::move(continue_token)) {}

Async<RawList> ListPages::Next() {
  while (true) {
    std::string target = ListTarget(resource_, options_);
    AddQuery(target, "limit", std::to_string(limit_));
    if (!continue_token_.empty()) AddQuery(target, "continue", continue_token_);
    ApiRequest request{.target = std::move(target),
                       .accept = std::string(protobuf_ ? kProtobuf : kJson),
                       .timeout = options_.page_timeout};
    Result<ApiResponse> response = co_await client_.Call(std::move(request));
    bool too_large = !response && response.error().reason() == kBodyTooLarge;
    if (too_large && limit_ > 1) {
      limit_ = std::max(limit_ / kGrowth, 1);
      continue;
    }
    if (!response) co_return response.error();
    Result<RawList> page =
        protobuf_ ? DecodeProtobufList(response->body) : DecodeJsonList(response->body);
    if (!page) co_return page.error();
    continue_token_ = page->continue_token;
    more_ = !continue_token_.empty();
    auto items = static_cast<int64_t>(std::max<size_t>(page->items.size(), 1));
    int64_t fitting =
        kPageBytes * items / static_cast<int64_t>(std::max<size_t>(response->body.size(), 1));
    int64_t most = std::min<int64_t>(options_.limit, int64_t{limit_} * kGrowth);
    limit_ = static_cast<int>(std::clamp<int64_t>(fitting, 1, std::max<int64_t>(most, 1)));
    co_return page;
  }
}

Async<TypedList<Unstructured>> ListObjects(Client& client, Resource resource, ListOptions options) {
  return ListAll<Unstructured>(client, resource, std::move(options));
}

Async<Unstructured> CreateObject(Client& client, Resource resource, Unstructured object) {
  return CallFor<Unstructured>(client, {.method = Method::kPost,
                                        .target = resource.Path(object.metadata().namespace_()),
                                        .content_type = std::string(kJson),
                                        .body = Encode(object)});
}

Async<Unstructured> ApplyObject(Client& client, Resource resource, Unstructured object,
                                ApplyOptions options) {
  std::string target =
      resource.Path(object.metadata().namespace_(), object.metadata().name(), options.subresource);
  AddQuery(target, "fieldManager", options.field_manager);
  if (options.force) AddQuery(target, "force", "true");
  return CallFor<Unstructured>(client, {.method = Method::kPatch,
                                        .target = std::move(target),
                                        .content_type = std::string(kApplyPatch),
                                        .body = Encode(object)});
}

Async<Unstructured> PatchObject(Client& client, Resource resource, ObjectKey key,
                                std::string_view content_type, Json patch,
                                std::string subresource) {
  return CallFor<Unstructured>(client, {.method = Method::kPatch,
                                        .target = resource.Path(key.ns, key.name, subresource),
                                        .content_type = std::string(content_type),
                                        .body = DumpJson(patch)});
}

Async<> DeleteObject(Client& client, Resource resource, ObjectKey key, DeleteOptions options) {
  Json body = {
      {"apiVersion", "v1"}, {"kind", "DeleteOptions"}, {"propagationPolicy", options.propagation}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty())
    body["preconditions"]["resourceVersion"] = options.resource_version;
  ApiRequest request{.method = Method::kDelete,
                     .target = resource.Path(key.ns, key.name),
                     .content_type = std::string(kJson),
                     .body = DumpJson(body)};
  return Send(client, std::move(request));
}

}  // namespace kube
