// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/fake_list.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <vector>

namespace kube {
namespace {

uint64_t ParseNumber(std::string_view text) {
  uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

uint64_t VersionOfToken(const std::string& token) { return ParseNumber(token); }

Result<ApiResponse> ListPage(const FakeCall& call, const FakeObjects& objects, uint64_t version) {
  const FakeTarget& target = call.target;
  std::optional<ObjectKey> after;
  if (std::string token = target.Query("continue"); !token.empty()) {
    std::string name = token.substr(token.find('|') + 1);
    after = ObjectKey{name.substr(0, name.find('/')), name.substr(name.find('/') + 1)};
  }
  size_t limit = ParseNumber(target.Query("limit"));

  // In the order of etcd's keys, in which "a-b/x" comes before "a/x".
  std::vector<const FakeObjects::value_type*> ordered;
  for (const auto& entry : objects) ordered.push_back(&entry);
  auto comes_before = [](const ObjectKey& a, const ObjectKey& b) {
    return a.ToString() < b.ToString();
  };
  std::sort(ordered.begin(), ordered.end(),
            [&](auto* a, auto* b) { return comes_before(a->first, b->first); });

  std::vector<const FakeObject*> items;
  std::string next;
  for (const FakeObjects::value_type* entry : ordered) {
    const auto& [key, object] = *entry;
    if (after && !comes_before(*after, key)) continue;
    Result<bool> matches = target.Matches(key, object);
    if (!matches) return matches.error();
    if (!*matches) continue;
    if (limit > 0 && items.size() == limit) {
      meta::ObjectMeta last = items.back()->metadata();
      next = std::to_string(version) + "|" + last.namespace_() + "/" + last.name();
      break;
    }
    items.push_back(&object);
  }

  if (call.WantsProtobuf()) {
    meta::List list;
    list.mutable_metadata()->set_resource_version(std::to_string(version));
    list.mutable_metadata()->set_continue_token(next);
    for (const FakeObject* item : items) {
      Result<std::string> bytes = item->Bare(/*as_protobuf=*/true);
      if (!bytes) return bytes.error();
      list.add_items(std::move(*bytes));
    }
    return ApiResponse{200, std::string(kProtobuf),
                       SealFakeEnvelope("v1", "List", list.SerializeAsString())};
  }
  Json list = {{"kind", "List"},
               {"metadata", {{"resourceVersion", std::to_string(version)}}},
               {"items", Json::array()}};
  if (!next.empty()) list["metadata"]["continue"] = next;
  for (const FakeObject* item : items) {
    Result<std::shared_ptr<const Json>> json = item->AsJson();
    if (!json) return json.error();
    list["items"].push_back(**json);
  }
  return ApiResponse{200, std::string(kJson), DumpJson(list)};
}

}  // namespace kube
