// SPDX-License-Identifier: Apache-2.0
// ConfigLists: consistent lists of the PodPlacementConfigs of a namespace, in bounded memory: 17 at
// a time, of a namespace one, which concurrent callers share, and of the result what the budget of
// a namespace allows. Each namespace waits once at most, so many calls for one do not delay the
// others. Namespaces whose last list was long, of more than a mebibyte, wait for each other alone:
// of them, one is listed at a time.
//
// Memory: while a list waits for the API server, it has at most one page and the result. A page has
// four objects, 512 KiB of what the validating webhook admits, 6 MiB of the largest objects that
// etcd stores.
//
//   ConfigLists lists(client, clock);
//   Result<ConfigCache::Configs> configs = co_await lists.Read("shop", clock.Now() + 5s);
//
// Thread: the client's.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/shared_call.h"
#include "kube/base/slots.h"
#include "kube/client/client.h"
#include "watches/config_cache.h"

namespace watches {

class ConfigLists {
 public:
  // The configs of a namespace if they are known without a list by now, otherwise nullptr.
  using Known = std::function<ConfigCache::Configs()>;

  // `client` and `clock` outlive this.
  ConfigLists(kube::Client& client, kube::Clock& clock) : client_(client), clock_(clock) {}

  // The configs of `ns` with every write that was done before the call, in the order in which they
  // are applied. Those over the budget of a config or of a namespace are without spec, as in
  // ConfigCache. `deadline`: for waiting and reading; callers that share a list have the deadline
  // of the first. `known`, if any, is called when it is the namespace's turn: there is no list if
  // all callers know the configs then. Errors: the API server's; kDeadlineExceeded; kCancelled.
  kube::Async<ConfigCache::Configs> Read(std::string ns, kube::TimePoint deadline, Known known);
  kube::Async<ConfigCache::Configs> Read(std::string ns, kube::TimePoint deadline) {
    return Read(std::move(ns), deadline, nullptr);
  }

 private:
  struct Namespace {
    kube::SharedCall<ConfigCache::Configs> call;
    // Of the next list, which has not begun.
    std::optional<kube::TimePoint> deadline;
    std::vector<Known> known;
    bool is_long = false;  // the last list
  };

  Namespace& Of(const std::string& ns);
  kube::Async<ConfigCache::Configs> List(std::string ns);
  kube::Async<kube::Slots::Lease> Turn(bool is_long, kube::TimePoint deadline);

  kube::Client& client_;
  kube::Clock& clock_;
  // nullptr before the first list.
  std::shared_ptr<kube::Slots> short_lists_;
  std::shared_ptr<kube::Slots> long_lists_;
  std::unordered_map<std::string, Namespace> namespaces_;
};

}  // namespace watches
