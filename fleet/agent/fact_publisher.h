// SPDX-License-Identifier: Apache-2.0
// FactPublisher: publishes on the hub what this cluster knows about images and registries tell
// everybody, as ImageFacts in the namespace of this cluster. At most kPublishedLimits; those that
// were read last. Thread: the clients'.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>

#include "fleet/agent/publisher.h"
#include "image-facts/fact_book.h"
#include "image-facts/stored_objects.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/client/metadata_lists.h"

namespace fleet {

class FactPublisher final : public Publisher {
 public:
  static constexpr std::chrono::seconds kEvery{60};

  // `operator_namespace`: of the member, with its ImageFacts. The references outlive it.
  FactPublisher(kube::Client& hub, kube::Client& member, kube::Clock& clock, std::string cluster,
                std::string operator_namespace);

  std::string_view name() const override { return "image facts"; }
  kube::Async<kube::Duration> Publish() override;

 private:
  // What is published already.
  kube::Async<> Load();
  // Adds what is new in the member.
  kube::Async<> Collect();

  kube::Client& member_;
  kube::MetadataLists member_metadata_;
  kube::Clock& clock_;
  std::string operator_namespace_;
  image_facts::StoredObjects published_;
  image_facts::FactBook book_;
  // The resourceVersion of each object of the member that was read.
  std::map<std::string, std::string> read_;
};

}  // namespace fleet
