// SPDX-License-Identifier: Apache-2.0
// FactKeeper: keeps what the cluster controller learns about public images in ImageFacts objects,
// and gives its inspector what an earlier leader has learned. At most one write a second. The
// objects are owned by the ClusterPodPlacementConfig: none are left when it is gone.
//
// It is an aid: whatever fails, pods are placed by the inspector as without it.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cluster-controller/term_feature.h"
#include "image-facts/controller/fact_metrics.h"
#include "image-facts/fact_book.h"
#include "image-facts/image_facts.h"
#include "inspection/inspector.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"

namespace image_facts {

inline constexpr std::chrono::seconds kWriteInterval{1};
// After a failed call of the API server, doubled up to the second.
inline constexpr std::chrono::seconds kFirstRetry{1};
inline constexpr std::chrono::seconds kLastRetry{60};

class FactKeeper final : public cluster_controller::TermFeature {
 public:
  // `ns`: the operator's namespace. All references outlive it.
  FactKeeper(std::string ns, kube::Client& client, kube::Clock& clock,
             inspection::ImageInspector& images, FactMetrics& metrics, FactLimits limits = {});
  ~FactKeeper() override;

  // TermFeature
  void Start(kube::TaskGroup& tasks) override;
  void Follow(const api::ClusterPodPlacementConfig* config) override;
  bool Wake(const kube::ObjectKey&) override { return false; }

 private:
  kube::asio::awaitable<void> Run();
  // Waits until there is something to do, and does it.
  kube::Async<> DoNext();
  // Reads all objects; the first time, restores what they have.
  kube::Async<> Load();
  void Restore(const std::vector<ImageFacts>& objects);
  void OnLearned(inspection::PublicImage image);
  void OnConfigured();
  void Learn(inspection::PublicImage image, Seconds read);
  kube::Async<> Write(ImageFacts object);
  void UpdateMetrics();
  Seconds Now() const;

  std::string ns_;
  kube::Client& client_;
  kube::Clock& clock_;
  inspection::ImageInspector& images_;
  FactMetrics& metrics_;
  FactBook book_;
  kube::Notifier changed_;
  // The uid of the ClusterPodPlacementConfig; "": there is none.
  std::string owner_;
  // stored_ is complete.
  bool loaded_ = false;
  bool restored_ = false;
  // Learned before the objects were restored, with their times.
  std::vector<std::pair<inspection::PublicImage, Seconds>> early_;
  // The resourceVersion of each object that is stored.
  std::map<std::string, std::string> stored_;
};

}  // namespace image_facts
