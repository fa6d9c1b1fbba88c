// SPDX-License-Identifier: Apache-2.0
#include "operator/gates.h"

#include <glog/logging.h>

#include "api/names.h"
#include "kube/cache/waiting_pods.h"
#include "kube/client/typed.h"
#include "placement/gate.h"

namespace operator_ {

using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;
using kube::core::Pod;

Async<std::vector<Pod>> GatedPods(kube::Client& client, std::string ns, std::string gate, size_t limit) {
  constexpr int kPage = 250;
  std::vector<Pod> gated;
  kube::ListOptions options{.ns = std::move(ns), .field_selector = kube::kWaitingPods, .limit = kPage};
  kube::ListPages pages(client, kube::ResourceOf<Pod>::value, std::move(options), /*protobuf=*/true);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error();
    for (const std::string& item : page->items) {
      Result<Pod> pod = kube::DecodeBare<Pod>(item);
      if (!pod) co_return pod.error();
      if (placement::HasGate(*pod, gate)) gated.push_back(std::move(*pod));
      if (gated.size() == limit) co_return gated;
    }
  }
  co_return gated;
}

Async<> DropGates(kube::Client& client, std::vector<Pod> pods, std::vector<std::string> gates) {
  std::optional<Error> failure;
  for (Pod& pod : pods) {
    std::string name = kube::KeyOf(pod).ToString();
    bool changed = false;
    for (const std::string& gate : gates) {
      if (!placement::RemoveGate(pod, gate)) continue;
      changed = true;
      (*pod.mutable_metadata()->mutable_labels())[gate] = std::string(api::kRemoved);
    }
    if (!changed) continue;
    Result<Pod> written = co_await kube::Update(client, std::move(pod));
    if (written) {
      LOG(INFO) << "pod=" << name << " ungated: nobody else is left to do it";
    } else if (!IsConflict(written) && !IsNotFound(written)) {
      failure = written.error().Prefix("ungate pod " + name);
    }
  }
  if (failure) co_return *failure;
  co_return Ok();
}

}  // namespace operator_
