// SPDX-License-Identifier: Apache-2.0
// WatchedApi: the newest state of what is followed at one API server.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "e2e/framework/cluster.h"
#include "e2e/framework/follower.h"
#include "kube/base/task_group.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

class WatchedApi {
 public:
  // Called for each event, in order: `before` is null for a new object, `after` for a deleted one.
  using OnChange = std::function<void(const kube::Resource& resource, const kube::Json& before,
                                      const kube::Json& after)>;

  // `cluster` must outlive it.
  WatchedApi(Cluster& cluster, OnChange on_change)
      : cluster_(cluster), on_change_(std::move(on_change)), tasks_(cluster.io().get_executor()) {}
  ~WatchedApi();

  // Watches until this object is destroyed.
  void Follow(const kube::Resource& resource);

  // Null if there is no such object.
  const kube::Json& Find(const kube::Resource& resource, const kube::ObjectKey& key) const;
  std::vector<kube::Json> All(const kube::Resource& resource) const;

 private:
  void Record(const kube::Resource& resource, const std::string& type, const kube::Json& object);

  Cluster& cluster_;
  OnChange on_change_;
  std::vector<std::unique_ptr<Follower>> followers_;
  // By the plural name of the resource; null for an object that was deleted.
  std::map<std::string_view, std::map<kube::ObjectKey, kube::Json>> objects_;
  kube::TaskGroup tasks_;
};

}  // namespace e2e
