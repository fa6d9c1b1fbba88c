// SPDX-License-Identifier: Apache-2.0
// Follower: every event of a resource, in order and without gaps, as JSON. Does not use kube/cache:
// tests must see the API server's events and not the product's view of them.
#pragma once

#include <functional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/client/typed.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

class Follower {
 public:
  // `type` is ADDED, MODIFIED or DELETED; listed objects are ADDED.
  using OnEvent = std::function<void(const std::string& type, const kube::Json& object)>;

  Follower(kube::Client& client, kube::Clock& clock, kube::Resource resource,
           kube::ListOptions options, OnEvent on_event);

  // Lists, then watches until cancelled. After a lost connection the watch resumes.
  boost::asio::awaitable<void> Run();

  bool synced() const { return synced_; }
  // How often the resourceVersion had expired; events may be missing then.
  int gaps() const { return gaps_; }

 private:
  kube::Async<> List();
  kube::Async<> Watch();

  kube::Client& client_;
  kube::Clock& clock_;
  kube::Resource resource_;
  kube::ListOptions options_;
  OnEvent on_event_;
  std::string resource_version_;
  bool synced_ = false;
  int gaps_ = 0;
};

}  // namespace e2e
