// SPDX-License-Identifier: Apache-2.0
// NodeImages: finds out which nodes have an image.
//
// Nodes are listed, not watched: their heartbeats would be most of what the controller reads. They
// are only listed for an image that no registry can tell of, and then at most once in
// kListNodesEvery and kForEachNode for each of them, whatever pods ask. Thread: one.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cluster-controller/node_image_index.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/shared_call.h"
#include "kube/client/client.h"
#include "placement/platforms.h"

namespace cluster_controller {

// Between two lists, and as much more for each node that was read: for 5,000 nodes about two
// minutes.
inline constexpr std::chrono::seconds kListNodesEvery{20};
inline constexpr std::chrono::milliseconds kForEachNode{20};
// Of the names of images.
inline constexpr size_t kMaxNodeImageBytes = 6u << 20;

class NodeImages {
 public:
  // Both outlive it.
  NodeImages(kube::Client& client, kube::Clock& clock)
      : client_(client), clock_(clock), read_([this] { return Read(); }) {}

  // The platforms of the nodes that have the image, by the last list that was read; none if no node
  // has it. Errors: kInvalid for a name that is none; the API server's.
  kube::Async<placement::SharedPlatforms> Find(std::string image);

 private:
  // Lists the nodes if it is time. Errors: of the last list, while there was none without.
  kube::Async<> Read();
  kube::Async<> List();

  kube::Client& client_;
  kube::Clock& clock_;
  kube::SharedCall<void> read_;
  std::optional<NodeImageIndex> index_;
  kube::Error error_;  // while there is no index
  kube::TimePoint next_list_{};
};

}  // namespace cluster_controller
