// SPDX-License-Identifier: Apache-2.0
#include "console/answers/session.h"

#include <algorithm>
#include <utility>

#include "api/version.h"
#include "kube/client/metadata_lists.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace console {
namespace {

using kube::Async;
using kube::Json;
using kube::Result;

// For a list to choose from; others can be typed.
constexpr size_t kMaxNamespaces = 2'000;
constexpr char kFleetGroup[] = "/apis/cluster.open-cluster-management.io";

Async<Json> ReadNamespaces(kube::Client& client) {
  Json names = Json::array();
  kube::MetadataLists metadata(client);
  kube::ListPages pages(metadata, kube::kNamespaces, {}, /*protobuf=*/true);
  while (pages.more() && names.size() < kMaxNamespaces) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      auto one = kube::DecodeBare<kube::meta::PartialObject>(item);
      if (one && names.size() < kMaxNamespaces) names.push_back(one->metadata().name());
    }
  }
  co_return names;
}

}  // namespace

Async<std::string> AnswerSession(const Question& question) {
  Json answer = {{"user", question.user},
                 {"version", api::kVersion},
                 {"namespaces", Json::array()},
                 {"namespacesUnread", ""},
                 {"fleet", false}};
  Result<Json> names = co_await ReadNamespaces(question.client);
  if (names) {
    answer["namespaces"] = std::move(*names);
  } else {
    answer["namespacesUnread"] = names.error().message();
  }
  kube::ApiRequest group{.target = kFleetGroup};
  Result<kube::ApiResponse> fleet = co_await question.client.Call(std::move(group));
  answer["fleet"] = fleet.has_value();
  co_return kube::DumpJson(answer);
}

}  // namespace console
