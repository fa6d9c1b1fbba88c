// SPDX-License-Identifier: Apache-2.0
// FactCollector: collects on the hub what trusted members publish about images, and gives it to all
// members. A part of the hub's leader. Nothing is written before all that is published was read.
// At most one shared object is written in kEvery, so that members read no more than that.
// Thread: the client's.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "fleet/image-facts/fleet_objects.h"
#include "fleet/image-facts/shared_facts.h"
#include "image-facts/image_facts.h"
#include "image-facts/stored_objects.h"
#include "image-facts/stored_version.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/client/metadata_lists.h"
#include "kube/controller/event_recorder.h"
#include "kube/types/resource.h"

namespace fleet {

// The reason of the event about a ManagedCluster that contradicts another one.
inline constexpr std::string_view kImageFactsDisputed = "ImageFactsDisputed";

struct FactCollectorOptions {
  // Of the hub's own pods.
  std::string hub_namespace;
  // Whether what the cluster publishes counts.
  std::function<bool(const std::string& cluster)> is_trusted;
};

class FactCollector {
 public:
  static constexpr std::chrono::seconds kEvery{30};

  // The references outlive it.
  FactCollector(kube::Client& client, kube::Clock& clock, kube::EventRecorder& events,
                FactCollectorOptions options);

  void Start(kube::TaskGroup& tasks);

 private:
  // By object, its resourceVersion.
  using Versions = std::map<kube::ObjectKey, std::string>;

  boost::asio::awaitable<void> Run();
  // Errors: those of the client; what was read before stays.
  kube::Async<> Pass();
  // What trusted members publish.
  Versions Published() const;
  void ForgetAllBut(const Versions& published);
  void Report(const std::vector<SharedFacts::Dispute>& disputes);
  kube::Async<> Write();
  kube::Async<> WriteHead();

  kube::Client& client_;
  kube::Clock& clock_;
  kube::EventRecorder& events_;
  FactCollectorOptions options_;
  kube::MetadataLists metadata_;
  kube::Informer<image_facts::StoredVersion> versions_;
  SharedFacts facts_{kSharedLimits};
  Versions read_;
  image_facts::StoredObjects shared_;
  // What the head says; "" before it was written.
  std::string head_;
};

}  // namespace fleet
