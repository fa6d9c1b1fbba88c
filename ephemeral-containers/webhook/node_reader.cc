// SPDX-License-Identifier: Apache-2.0
#include "ephemeral-containers/webhook/node_reader.h"

#include <utility>

#include "api/names.h"
#include "kube/client/typed.h"
#include "kube/types/core.pb.h"

namespace ephemeral {
namespace {

using kube::core::Node;

std::string LabelOf(const Node& node, std::string_view label) {
  auto found = node.metadata().labels().find(std::string(label));
  return found == node.metadata().labels().end() ? "" : found->second;
}

kube::Async<NodePlatform> ReadPlatform(kube::Client& client, std::string name) {
  kube::ApiRequest get{.target = kube::ResourceOf<Node>::value.Path("", name),
                       .accept = std::string(kube::kProtobuf),
                       .timeout = kNodeReadTimeout};
  kube::Result<Node> node = co_await kube::CallFor<Node>(client, std::move(get));
  if (!node) co_return node.error().Prefix("read node " + name);
  NodePlatform platform{.name = std::move(name),
                        .os = LabelOf(*node, api::kOsLabel),
                        .architecture = LabelOf(*node, api::kArchLabel)};
  if (platform.os.empty() || platform.architecture.empty())
    co_return kube::Error::Invalid("node " + platform.name + " has no labels for its platform");
  co_return platform;
}

}  // namespace

kube::Async<NodePlatform> NodeReader::Read(std::string name) {
  Kept* kept = kept_.Find(name);
  if (kept != nullptr && clock_.Now() < kept->until) co_return kept->node;
  auto found = reads_.find(name);
  if (found == reads_.end()) {
    if (reads_.size() >= kMaxNodeReads) {
      co_return kube::Error::Throttled("read node " + name + ": " + std::to_string(kMaxNodeReads) +
                                       " others are being read");
    }
    kube::Client& client = client_;
    kube::SharedCall<NodePlatform> read([&client, name] { return ReadPlatform(client, name); });
    found = reads_.emplace(name, std::move(read)).first;
  }
  kube::SharedCall<NodePlatform> call = found->second;
  kube::Result<NodePlatform> node = co_await call.Call();
  if (call.idle()) reads_.erase(name);
  if (node) kept_.Put(name, Kept{*node, clock_.Now() + kNodeLifetime});
  co_return node;
}

}  // namespace ephemeral
