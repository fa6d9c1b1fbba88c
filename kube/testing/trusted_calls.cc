// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/trusted_calls.h"

#include <glog/logging.h>

#include "kube/testing/fake_store.h"

namespace kube {

TrustedCalls::TrustedCalls(FakeStore& store, std::string user)
    : store_(store), caller_{.user = std::move(user), .trusted = true} {}

Result<ApiResponse> TrustedCalls::Try(const ApiRequest& request) {
  return store_.Handle(caller_, request);
}

ApiResponse TrustedCalls::Must(const ApiRequest& request) {
  Result<ApiResponse> response = Try(request);
  CHECK(response) << "the test's own " << MethodName(request.method) << " " << request.target
                  << ": " << response.error();
  return std::move(*response);
}

Json TrustedCalls::CreateJson(const Resource& resource, const Json& object) {
  ApiResponse response = Must({.method = Method::kPost,
                               .target = resource.Path(StringAt(object, "metadata.namespace")),
                               .content_type = std::string(kJson),
                               .body = DumpJson(object)});
  return MustParseJson(response.body);
}

Json TrustedCalls::UpdateJson(const Resource& resource, const Json& object) {
  std::string path =
      resource.Path(StringAt(object, "metadata.namespace"), StringAt(object, "metadata.name"));
  ApiResponse response = Must({.method = Method::kPut,
                               .target = std::move(path),
                               .content_type = std::string(kJson),
                               .body = DumpJson(object)});
  return MustParseJson(response.body);
}

Json TrustedCalls::PatchJson(const Resource& resource, const ObjectKey& key, const Json& patch) {
  Json object = GetJson(resource, key).value();
  object.merge_patch(patch);
  return UpdateJson(resource, object);
}

std::optional<Json> TrustedCalls::GetJson(const Resource& resource, const ObjectKey& key) {
  Result<ApiResponse> response = Try({.target = resource.Path(key.ns, key.name)});
  if (IsNotFound(response)) return std::nullopt;
  return MustParseJson(response.value().body);
}

void TrustedCalls::DeleteJson(const Resource& resource, const ObjectKey& key) {
  Must({.method = Method::kDelete, .target = resource.Path(key.ns, key.name)});
}

std::vector<Json> TrustedCalls::ListJson(const Resource& resource, std::string_view ns) {
  ApiResponse response = Must({.target = resource.Path(ns)});
  return MustParseJson(response.body)["items"].get<std::vector<Json>>();
}

}  // namespace kube
