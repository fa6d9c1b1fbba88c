// SPDX-License-Identifier: Apache-2.0
#include "watches/config_lists.h"

#include <map>
#include <utility>
#include <vector>

#include "kube/client/typed.h"
#include "kube/codec/codec.h"

namespace watches {
namespace {

using api::PodPlacementConfig;
using kube::Async;
using kube::Result;
using Configs = ConfigCache::Configs;
using namespace std::chrono_literals;

constexpr kube::Duration kWaitAtMost = 30s;
// With more namespaces, idle ones are dropped.
constexpr size_t kMaxIdleNamespaces = 256;

}  // namespace

Async<Configs> ConfigLists::Read(std::string ns) {
  if (calls_.size() >= kMaxIdleNamespaces && !calls_.contains(ns))
    std::erase_if(calls_, [](const auto& entry) { return entry.second.idle(); });
  auto found = calls_.find(ns);
  if (found == calls_.end()) {
    kube::SharedCall<Configs> call([this, ns] { return List(ns); });
    found = calls_.emplace(ns, std::move(call)).first;
  }
  kube::SharedCall<Configs> list = found->second;
  Result<Configs> listed = co_await list.Call();
  co_return listed;
}

Async<Configs> ConfigLists::List(std::string ns) {
  if (slots_ == nullptr) {
    kube::Executor executor = co_await kube::asio::this_coro::executor;
    slots_ = std::make_shared<kube::Slots>(executor, clock_, 1, "a list of PodPlacementConfigs");
  }
  Result<kube::Slots::Lease> turn = co_await slots_->Acquire(clock_.Now() + kWaitAtMost);
  if (!turn) co_return turn.error();
  BoundedConfigs bounded;
  kube::ListOptions options{.ns = ns};
  kube::ListPages pages(client_, kube::ResourceOf<PodPlacementConfig>::value, std::move(options),
                        /*protobuf=*/false);
  while (pages.more()) {
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list the PodPlacementConfigs of " + ns);
    for (const std::string& item : page->items) {
      Result<kube::Unstructured> object = kube::DecodeBare<kube::Unstructured>(item);
      if (!object) co_return object.error();
      bounded.Add(std::move(*object));
    }
  }
  co_return bounded.Take();
}

}  // namespace watches
