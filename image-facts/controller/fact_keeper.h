// SPDX-License-Identifier: Apache-2.0
// FactKeeper: keeps what the cluster controller learns about images in ImageFacts objects, and
// gives its inspector what an earlier leader has learned. At most one write a second. The objects
// are owned by the ClusterPodPlacementConfig: none are left when it is gone. While that has pods
// placed at their creation, the facts that they use are asked for again (refresh_plan.h).
//
// An image with a finding (cluster-controller/findings/image_findings.h) is no fact: its pods are
// gated, and the cluster controller places them by the finding.
//
// What others write into the objects (`bazel run //image-facts:facts -- import`) is learned, too.
//
// What every pod of the cluster may read serves every pod. What was read with the pull secrets of a
// pod gets a scope (fact_scope.h); what was read as a service account is no fact.
//
// It is an aid: whatever fails, pods are placed by the inspector as without it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster-controller/findings/image_findings.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/term_feature.h"
#include "image-facts/controller/fact_metrics.h"
#include "image-facts/controller/refresh_plan.h"
#include "image-facts/fact_book.h"
#include "image-facts/image_facts.h"
#include "image-facts/stored_objects.h"
#include "image-facts/stored_version.h"
#include "inspection/inspector.h"
#include "kube/base/alarm.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/task_group.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/client/metadata_lists.h"

namespace image_facts {

inline constexpr std::chrono::seconds kWriteInterval{1};
// After a failed call of the API server, doubled up to the second.
inline constexpr std::chrono::seconds kFirstRetry{1};
inline constexpr std::chrono::seconds kLastRetry{60};

// Has the images inspected, as for a pod; their answers are learned. Ends when that is queued.
using AskAgain = std::function<kube::Async<>(cluster_controller::PodInspector::Images)>;

class FactKeeper final : public cluster_controller::TermFeature {
 public:
  // `ns`: the operator's namespace. All references outlive it.
  FactKeeper(std::string ns, kube::Client& client, kube::Clock& clock,
             inspection::ImageInspector& images, cluster_controller::ImageFindings& findings,
             AskAgain ask_again, FactMetrics& metrics, FactLimits limits = {});
  ~FactKeeper() override;

  // TermFeature
  void Start(kube::TaskGroup& tasks) override;
  void Follow(const api::ClusterPodPlacementConfig* config) override;
  bool Wake(const kube::ObjectKey&) override { return false; }

 private:
  // A fact, and how it was learned.
  struct Learned {
    ImageFact fact;
    std::string ns;  // of the pod
    bool always_pull = false;
    bool used = false;  // by a pod
  };

  kube::asio::awaitable<void> Run();
  kube::asio::awaitable<void> Refresh();
  // Waits until there is something to do, and does it.
  kube::Async<> DoNext();
  // Reads all objects, and restores what they have.
  kube::Async<> Load();
  void Restore(const std::vector<ImageFacts>& objects);
  // Drops the facts whose digest is one of these.
  void EraseIf(const std::function<bool(const std::string& digest)>& has_finding);
  void EnsureAnObject();
  // Somebody else has written an object.
  bool HasForeignWrite() const;
  void OnLearned(inspection::Learned image);
  void OnConfigured();
  void Learn(Learned learned);
  void UpdateMetrics();

  kube::Clock& clock_;
  inspection::ImageInspector& images_;
  cluster_controller::ImageFindings& findings_;
  AskAgain ask_again_;
  FactMetrics& metrics_;
  FactBook book_;
  kube::Notifier changed_;
  kube::Alarm due_;
  RefreshPlan plan_;
  kube::Notifier plan_changed_;
  kube::Alarm plan_due_;
  // Whether pods are placed by the facts.
  bool places_ = false;
  // The uid of the ClusterPodPlacementConfig; "": there is none.
  std::string owner_;
  StoredObjects objects_;
  // Without their content.
  kube::MetadataLists metadata_;
  kube::Informer<StoredVersion> versions_;
  bool restored_ = false;
  // Learned before the objects were restored.
  std::vector<Learned> early_;
};

std::unique_ptr<FactKeeper> NewFactKeeper(const cluster_controller::TermParts& term,
                                          FactMetrics& metrics);

}  // namespace image_facts
