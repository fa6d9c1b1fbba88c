// SPDX-License-Identifier: Apache-2.0
// NodeImages: finds out which nodes have an image.
//
//   std::optional<Result<SharedPlatforms>> nodes = images.Find(pod, "r.io/app:1");
//   if (!nodes) ...   // the nodes are being listed; OnListed() is called with `pod` then
//
// Nodes are listed, not watched: their heartbeats would be most of what the controller reads. They
// are only listed for an image that no registry can tell of, and then at most once in
// kListNodesEvery and kForEachNode for each of them, whatever pods ask. No caller waits for the
// list. Thread: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "cluster-controller/nodes/node_image_index.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"
#include "placement/platforms.h"

namespace cluster_controller {

// Between two lists, and as much more for each node that was read: for 5,000 nodes about two
// minutes.
inline constexpr std::chrono::seconds kListNodesEvery{20};
inline constexpr std::chrono::milliseconds kForEachNode{20};
// Of the names of images.
inline constexpr size_t kMaxNodeImageBytes = 6u << 20;

// For all pages of a list.
inline constexpr std::chrono::seconds kListNodesTimeout{120};

class NodeImages {
 public:
  // All outlive it except `tasks`, which must have stopped before it is destroyed.
  NodeImages(kube::Client& client, kube::Clock& clock, kube::TaskGroup& tasks)
      : client_(client), clock_(clock), tasks_(tasks) {}

  // `wake` is called with each pod that got nullopt, once the nodes are listed.
  void OnListed(std::function<void(const kube::ObjectKey&)> wake) { wake_ = std::move(wake); }

  // The platforms of the nodes that have the image, by the last list; none if no node has it.
  // nullopt: a list may tell of nodes that have it by now. `wait`: the pod waits for a list
  // that is newer than its question, as it will not ask again.
  // Errors: kInvalid for a name that is none; the API server's, of the last list.
  std::optional<kube::Result<placement::SharedPlatforms>> Find(const kube::ObjectKey& pod,
                                                               const std::string& image,
                                                               bool wait = false);
  // To be called when the pod has all answers, or is deleted: later, it may wait again.
  void Forget(const kube::ObjectKey& pod) { waiting_.erase(pod); }

 private:
  // Lists the nodes when it is time, and wakes the pods that wait.
  kube::asio::awaitable<void> Run();
  // Lists the nodes into `index`, which has what was read also after an error.
  kube::Async<> List(NodeImageIndex& index);

  kube::Client& client_;
  kube::Clock& clock_;
  kube::TaskGroup& tasks_;
  std::function<void(const kube::ObjectKey&)> wake_;
  std::optional<NodeImageIndex> index_;
  std::optional<kube::Error> error_;  // of the last list
  kube::TimePoint next_list_{};
  bool running_ = false;
  uint64_t lists_ = 0;
  // The number of lists when the pod first asked. It waits for one list, for all its images.
  std::map<kube::ObjectKey, uint64_t> waiting_;
};

}  // namespace cluster_controller
