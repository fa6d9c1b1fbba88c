// SPDX-License-Identifier: Apache-2.0
#include "operator/status/pod_trouble.h"

#include "kube/client/typed.h"
#include "operator/objects/kinds.h"
#include "operator/objects/metadata.h"

namespace operator_ {
namespace {

constexpr int kPage = 4;
constexpr int kMaxPods = 32;

}  // namespace

kube::Async<std::optional<Trouble>> PodTrouble(kube::Client& client, std::string ns,
                                               std::string name) {
  kube::ListOptions options{.ns = std::move(ns)};
  options.label_selector =
      std::string(kManagedBySelector) + "," + std::string(kNameLabel) + "=" + name;
  // The labels are anybody's to set: one object at a time is in memory, and not more than any
  // Deployment of ours has.
  options.limit = kPage;
  kube::ListPages pages(client, kPods, std::move(options), /*protobuf=*/false);
  for (int looked_at = 0; pages.more() && looked_at < kMaxPods; looked_at += kPage) {
    kube::Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list the pods of " + name);
    for (const std::string& item : page->items) {
      kube::Result<kube::Unstructured> pod = kube::DecodeBare<kube::Unstructured>(item);
      if (!pod) co_return pod.error().Prefix("a pod of " + name);
      std::vector<kube::Unstructured> one;
      one.push_back(std::move(*pod));
      if (std::optional<Trouble> trouble = TroubleOfPods(one)) co_return trouble;
    }
  }
  co_return std::optional<Trouble>();
}

}  // namespace operator_
