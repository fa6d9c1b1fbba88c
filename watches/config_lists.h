// SPDX-License-Identifier: Apache-2.0
// ConfigLists: consistent lists of the PodPlacementConfigs of a namespace, in bounded memory: one
// list at a time, which concurrent callers for its namespace share, and of the result what the
// budget of a namespace allows. Each namespace waits once at most, so many calls for one do not
// delay the others.
//
//   ConfigLists lists(client, clock);
//   Result<ConfigCache::Configs> configs = co_await lists.Read("shop");
//
// Thread: the client's.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/shared_call.h"
#include "kube/base/slots.h"
#include "kube/client/client.h"
#include "watches/config_cache.h"

namespace watches {

class ConfigLists {
 public:
  // `client` and `clock` outlive this.
  ConfigLists(kube::Client& client, kube::Clock& clock) : client_(client), clock_(clock) {}

  // The configs of `ns` with every write that was done before the call, in the order in which they
  // are applied. Those over the budget of a config or of a namespace are without spec, as in
  // ConfigCache. Errors: the API server's; kDeadlineExceeded after half a minute of other lists;
  // kCancelled.
  kube::Async<ConfigCache::Configs> Read(std::string ns);

 private:
  kube::Async<ConfigCache::Configs> List(std::string ns);

  kube::Client& client_;
  kube::Clock& clock_;
  std::shared_ptr<kube::Slots> slots_;  // nullptr before the first list
  std::unordered_map<std::string, kube::SharedCall<ConfigCache::Configs>> calls_;
};

}  // namespace watches
