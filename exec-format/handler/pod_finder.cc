// SPDX-License-Identifier: Apache-2.0
#include "exec-format/handler/pod_finder.h"

#include <utility>

#include "kube/client/typed.h"
#include "kube/types/kinds.h"

namespace exec_format {

using kube::Async;
using kube::Json;
using kube::ObjectKey;
using kube::Result;

Async<PodFinder::Found> PodFinder::Find(const ENoExecEvent& event) {
  Found found;
  std::optional<ObjectKey> key = NamedPod(event);
  if (!key && HasPodUid(event)) {
    Result<std::optional<ObjectKey>> by_uid = co_await FindByUid(event.pod_uid, event.node_name);
    if (!by_uid) co_return by_uid.error();
    key = std::move(*by_uid);
  }
  if (!key) co_return found;

  kube::ApiRequest get{.target = kube::kPods.Path(key->ns, key->name)};
  Result<kube::ApiResponse> response = co_await client_.Call(std::move(get));
  if (IsNotFound(response)) co_return found;
  if (!response) co_return response.error().Prefix("read pod " + key->ToString());
  if (response->body.size() > kMaxPodBytes) {
    found.why = Skipped::kTooLarge;
    co_return found;
  }
  Result<Json> pod = kube::ParseJson(response->body);
  if (pod && IsPodOf(*pod, event)) found.pod = std::move(*pod);
  co_return found;
}

Async<std::optional<ObjectKey>> PodFinder::FindByUid(std::string uid, std::string node) {
  std::optional<ObjectKey> key;
  if (const ObjectKey* known = names_.Find(uid)) {
    key = *known;
    co_return key;
  }
  kube::ListOptions options{.field_selector = "spec.nodeName=" + node, .limit = kPodsOfAPage};
  kube::ListPages pages(metadata_, kube::kPods, std::move(options), /*protobuf=*/true);
  for (int i = 0; i < kMaxPodPages && pages.more(); ++i) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list the pods of node " + node);
    for (const std::string& item : page->items) {
      kube::meta::PartialObject pod;
      if (!kube::ParseMessage(item, pod) || pod.metadata().uid() != uid) continue;
      key = kube::KeyOf(pod);
      names_.Put(uid, *key);
      co_return key;
    }
  }
  co_return key;
}

}  // namespace exec_format
