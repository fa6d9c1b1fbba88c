// SPDX-License-Identifier: Apache-2.0
// HotImages: the known images with which a policy places pods, from a watch of the ImageFacts
// objects that begins when a policy wants them.
//
// A policy has no clock: an image that is named by a tag is taken off the list before its fact ends
// to count. Each change is a write that all API servers compile: at most one in kChangeEvery.
// Images that are listed stay so while their facts count, whatever others come: nobody's new images
// push out those of others. Thread: the client's.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "image-facts/policy/make_known_table.h"
#include "image-facts/policy/named_facts.h"
#include "image-facts/policy/policy_metrics.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "operator/known_images.h"

namespace image_facts {

inline constexpr std::chrono::seconds kChangeEvery{15};
// How long before its end a fact about a tag is taken off: for the next change of the list, its
// write, and the API servers.
inline constexpr std::chrono::seconds kTakenOffBefore{60};
// Of the names on the list: an API server compiles no expression of more than 100,000 characters.
inline constexpr size_t kMaxNameBytes = 64 * 1024;

class HotImages final : public operator_::KnownImages {
 public:
  // `ns`: the operator's namespace. All references outlive this.
  HotImages(kube::Client& client, kube::Clock& clock, std::string ns, PolicyMetrics& metrics);

  // KnownImages
  void OnChange(std::function<void()> listener) override { on_change_ = std::move(listener); }
  void Start(kube::TaskGroup& tasks) override { tasks_ = &tasks; }
  operator_::KnownTable Table(const api::ClusterPodPlacementConfig* config) override;

  // Those that count, sorted by name; none if they are not wanted.
  const std::vector<KnownImage>& List() const { return list_; }

 private:
  void Want(bool wanted);
  boost::asio::awaitable<void> Follow();
  // Returns: whether the list has changed.
  bool Refresh();
  void SetList(std::vector<KnownImage> list);
  // Whether a policy may place by the fact, until kTakenOffBefore before it ends to count.
  bool Counts(const NamedFact& fact) const;

  kube::Clock& clock_;
  PolicyMetrics& metrics_;
  kube::Informer<NamedFacts> objects_;
  kube::TaskGroup* tasks_ = nullptr;
  std::function<void()> on_change_;
  bool wanted_ = false;
  bool started_ = false;
  kube::Notifier wanted_again_;
  std::vector<KnownImage> list_;
};

// `metrics` outlives what it makes.
operator_::NewKnownImages NewHotImages(PolicyMetrics& metrics);

}  // namespace image_facts
