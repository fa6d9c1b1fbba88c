// SPDX-License-Identifier: Apache-2.0
// WatchedApi: one API server, the newest state of what is followed there, and blocking calls.
//
// The event loop runs only inside of Run() and while another caller runs `io`; otherwise events
// wait.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "e2e/framework/follower.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/testing/run.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace e2e {

class WatchedApi {
 public:
  // Called for each event, in order: `before` is null for a new object, `after` for a deleted one.
  using OnChange = std::function<void(const kube::Resource& resource, const kube::Json& before,
                                      const kube::Json& after)>;

  // Does not connect yet. `io` must outlive it. Errors: those of LoadKubeconfig() and NewClient().
  static kube::Result<std::unique_ptr<WatchedApi>> Open(boost::asio::io_context& io,
                                                        const std::string& kubeconfig,
                                                        OnChange on_change);
  ~WatchedApi();

  // Watches until this object is destroyed. A kind that is not served yet is requested again.
  void Follow(const kube::Resource& resource);
  // Whether everything that is followed has been listed.
  bool synced() const;

  // Null if there is no such object.
  const kube::Json& Find(const kube::Resource& resource, const kube::ObjectKey& key) const;
  std::vector<kube::Json> All(const kube::Resource& resource) const;

  kube::Client& client() { return *client_; }
  // As kube::Run() (kube/testing/run.h), with its time limit.
  template <class T>
  kube::Result<T> Run(kube::Async<T> work) {
    return kube::Run(io_, std::move(work));
  }
  // Errors: those of the API server, with the object's name.
  kube::Result<> Create(const kube::Resource& resource, kube::Json object);
  // Server-side apply of all objects of a YAML file. Errors: also kInvalid for another kind than
  // those of the demo.
  kube::Result<> ApplyFile(const std::string& path);

 private:
  WatchedApi(boost::asio::io_context& io, std::unique_ptr<kube::Client> client, OnChange on_change)
      : io_(io),
        client_(std::move(client)),
        on_change_(std::move(on_change)),
        tasks_(io.get_executor()) {}
  void Record(const kube::Resource& resource, const std::string& type, const kube::Json& object);
  kube::Result<> Apply(const kube::Resource& resource, kube::Json object);

  boost::asio::io_context& io_;
  std::unique_ptr<kube::Client> client_;
  OnChange on_change_;
  std::vector<std::unique_ptr<Follower>> followers_;
  // By the plural name of the resource; null for an object that was deleted.
  std::map<std::string_view, std::map<kube::ObjectKey, kube::Json>> objects_;
  kube::TaskGroup tasks_;
};

}  // namespace e2e
