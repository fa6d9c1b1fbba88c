// SPDX-License-Identifier: Apache-2.0
// FactWatch: the facts of all ImageFacts objects, for pods that are being created.
//
//   FactWatch facts(client, clock, operator_namespace);
//   tasks.Spawn("image-facts", facts.Run());
//   std::optional<placement::CommonPlatforms> known = facts.PlatformsOf(pod);
//
// Thread: the client's.
#pragma once

#include <optional>
#include <string>

#include "image-facts/fact_index.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "placement/images.h"
#include "placement/platforms.h"

namespace image_facts {

class FactWatch {
 public:
  // `ns`: the operator's namespace. Both references outlive it.
  FactWatch(kube::Client& client, kube::Clock& clock, std::string ns);

  // Until cancelled.
  kube::asio::awaitable<void> Run() { return objects_.Run(); }
  // The facts are those of the API server, but for changes on their way.
  bool current() const { return objects_.current(); }
  // What the images of the pod have in common. nullopt if one of them is not known or not any more,
  // is only on nodes, or is mounted as a volume; if the pod has no image; or if the facts are not
  // current.
  std::optional<placement::CommonPlatforms> PlatformsOf(const kube::core::Pod& pod) const;
  size_t size() const;

 private:
  // nullptr if it is not known under this configuration, or not any more.
  placement::SharedPlatforms Find(const placement::ContainerImage& image,
                                  const std::string& configuration) const;
  // Of the object that was written last: facts of others, until they are written too, do not count.
  std::string Configuration() const;

  kube::Clock& clock_;
  kube::Informer<FactIndex> objects_;
};

}  // namespace image_facts
