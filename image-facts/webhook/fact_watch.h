// SPDX-License-Identifier: Apache-2.0
// FactWatch: the facts of all ImageFacts objects, for pods that are being created.
//
//   FactWatch facts(client, clock, operator_namespace);
//   tasks.Spawn("image-facts", facts.Run());
//   auto known = facts.PlatformsOf(pod);
//   if (auto* common = std::get_if<placement::CommonPlatforms>(&known)) ...
//
// Thread: the client's.
#pragma once

#include <functional>
#include <string>
#include <variant>

#include "image-facts/fact_index.h"
#include "image-facts/lifetime.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "placement/platforms.h"

namespace image_facts {

// Why it is not known what the images of a pod have in common.
enum class NotKnown {
  kNotCurrent,   // the facts may be behind
  kNeverRead,    // no fact has one of the images, under this configuration of registries
  kTooOld,       // the fact about one of them, a tag, does not count any more
  kOfNoRegistry  // one is only on nodes or a volume; there is none, or there are too many
};

class FactWatch {
 public:
  // `ns`: the operator's namespace. Both references outlive it.
  FactWatch(kube::Client& client, kube::Clock& clock, std::string ns);

  // Called when there are other facts. Before Run().
  void OnChange(std::function<void()> listener);
  // Until cancelled.
  kube::asio::awaitable<void> Run() { return objects_.Run(); }
  // The facts are those of the API server, but for changes on their way.
  bool current() const { return objects_.current(); }
  // What the images of the pod have in common.
  std::variant<placement::CommonPlatforms, NotKnown> PlatformsOf(const kube::core::Pod& pod) const;
  size_t size() const;

 private:
  // Of the image under this configuration.
  using Found = std::variant<placement::SharedPlatforms, NotKnown>;
  // What the facts of the use's scope say.
  Found Find(const FactUse& use, const std::string& configuration) const;

  kube::Clock& clock_;
  kube::Informer<FactIndex> objects_;
};

}  // namespace image_facts
