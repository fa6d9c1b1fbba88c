// SPDX-License-Identifier: Apache-2.0
// NodeImageIndex: which images nodes have, and the platforms of these nodes: what is known of an
// image that is in no registry.
//
//   NodeImageIndex index(kMaxBytes);
//   index.Add(node);                          // an encoded core/v1 Node
//   index.Find(reference).platforms           // of the nodes that have the image
//
// A kubelet reports its 50 largest images only, unless its nodeStatusMaxImages says otherwise.
// Digests have the room first: two nodes may have different images under one tag. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inspection/base/reference.h"
#include "placement/platforms.h"

namespace cluster_controller {

class NodeImageIndex {
 public:
  // `max_bytes`: for the names, two thirds of it for digests. Further ones are left out.
  explicit NodeImageIndex(size_t max_bytes) : max_bytes_(max_bytes) {}

  // False if `node` is not valid protobuf; what was read of it stays. A node without labels for
  // its operating system and architecture, or whose platform is one too many, is left out.
  bool Add(std::string_view node);

  // By the digest, if the reference has one, else by its name and tag. Empty: no node has it.
  placement::ImagePlatforms Find(const inspection::Reference& image) const;

  size_t nodes() const { return nodes_; }
  // Names that were left out, as there was no room.
  size_t left_out() const { return left_out_; }

 private:
  // A bit for each entry of platforms_.
  using Platforms = uint64_t;
  struct Names {
    std::unordered_map<std::string, Platforms> platforms;
    size_t bytes = 0;
  };

  void AddName(std::string_view name, Platforms platform);
  void Put(Names& names, size_t max_bytes, std::string_view name, Platforms platform);
  Platforms PlatformOf(const placement::Platform& platform);

  size_t max_bytes_;
  std::vector<placement::Platform> platforms_;
  Names digests_;  // "sha256:…"
  Names tags_;     // "docker.io/library/nginx:1"
  size_t nodes_ = 0;
  size_t left_out_ = 0;
};

}  // namespace cluster_controller
