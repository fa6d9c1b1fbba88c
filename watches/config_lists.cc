// SPDX-License-Identifier: Apache-2.0
#include "watches/config_lists.h"

#include <chrono>
#include <utility>

#include "kube/client/typed.h"
#include "kube/codec/codec.h"

namespace watches {
namespace {

using api::PodPlacementConfig;
using kube::Async;
using kube::Result;
using Configs = ConfigCache::Configs;

// A consistent list takes 100 ms, and configs of many namespaces are created at once.
constexpr size_t kMaxShortLists = 16;
// Of the objects. A namespace whose specs are as large as allowed, with what else an object has,
// has less.
constexpr size_t kLongBytes = 1024 * 1024;
// Objects of a page. One of etcd has up to 1.5 MiB.
constexpr int kPage = 4;
// With more namespaces, idle ones are dropped.
constexpr size_t kMaxIdleNamespaces = 256;

// nullptr if a caller does not know them.
Configs KnownToAll(const std::vector<ConfigLists::Known>& callers) {
  Configs configs;
  for (const ConfigLists::Known& known : callers) {
    configs = known ? known() : nullptr;
    if (configs == nullptr) break;
  }
  return configs;
}

}  // namespace

ConfigLists::Namespace& ConfigLists::Of(const std::string& ns) {
  if (namespaces_.size() >= kMaxIdleNamespaces && !namespaces_.contains(ns))
    std::erase_if(namespaces_, [](const auto& entry) { return entry.second.call.idle(); });
  auto found = namespaces_.find(ns);
  if (found == namespaces_.end()) {
    kube::SharedCall<Configs> call([this, ns] { return List(ns); });
    Namespace fresh{.call = std::move(call), .deadline = {}, .known = {}};
    found = namespaces_.emplace(ns, std::move(fresh)).first;
  }
  return found->second;
}

Async<Configs> ConfigLists::Read(std::string ns, kube::TimePoint deadline, Known known) {
  Namespace& of_namespace = Of(ns);
  if (!of_namespace.deadline) of_namespace.deadline = deadline;
  of_namespace.known.push_back(std::move(known));
  kube::SharedCall<Configs> call = of_namespace.call;
  Result<Configs> listed = co_await call.Call();
  co_return listed;
}

Async<kube::Slots::Lease> ConfigLists::Turn(bool is_long, kube::TimePoint deadline) {
  if (short_lists_ == nullptr) {
    kube::Executor executor = co_await kube::asio::this_coro::executor;
    auto slots = [&](size_t count) {
      return std::make_shared<kube::Slots>(executor, clock_, count,
                                           "a list of PodPlacementConfigs");
    };
    short_lists_ = slots(kMaxShortLists);
    long_lists_ = slots(1);
  }
  std::shared_ptr<kube::Slots> slots = is_long ? long_lists_ : short_lists_;
  Result<kube::Slots::Lease> turn = co_await slots->Acquire(deadline);
  co_return turn;
}

Async<Configs> ConfigLists::List(std::string ns) {
  Namespace& of_namespace = Of(ns);
  kube::TimePoint deadline = std::exchange(of_namespace.deadline, {}).value_or(clock_.Now());
  std::vector<Known> callers = std::exchange(of_namespace.known, {});
  Result<kube::Slots::Lease> turn = co_await Turn(of_namespace.is_long, deadline);
  if (!turn) co_return turn.error();
  if (Configs known = KnownToAll(callers)) co_return known;
  BoundedConfigs bounded;
  size_t bytes = 0;
  std::string rest;  // the token of the next page
  do {
    kube::Duration left = deadline - clock_.Now();
    if (left <= kube::Duration::zero())
      co_return kube::Error::DeadlineExceeded("list the PodPlacementConfigs of " + ns);
    kube::ListOptions options{.ns = ns, .limit = kPage};
    options.page_timeout = std::chrono::ceil<std::chrono::milliseconds>(left);
    kube::ListPages pages(client_, kube::ResourceOf<PodPlacementConfig>::value, std::move(options),
                          /*protobuf=*/false, std::move(rest));
    Result<kube::RawList> page = co_await pages.Next();
    if (!page) co_return page.error().Prefix("list the PodPlacementConfigs of " + ns);
    for (const std::string& item : page->items) {
      bytes += item.size();
      Result<kube::Unstructured> object = kube::DecodeBare<kube::Unstructured>(item);
      if (!object) co_return object.error();
      bounded.Add(*object);
    }
    rest = pages.continue_token();
    // Also if the deadline ends it.
    if (bytes > kLongBytes) Of(ns).is_long = true;
  } while (!rest.empty());
  Of(ns).is_long = bytes > kLongBytes;
  co_return bounded.Take();
}

}  // namespace watches
