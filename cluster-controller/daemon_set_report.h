// SPDX-License-Identifier: Apache-2.0
// DaemonSetReport finds the DaemonSets whose images lack an architecture of the nodes that they run
// on: the pods there fail with "exec format error", or cannot pull their images. Each gets an
// event; their number is a metric. The pods of DaemonSets are never gated, so nothing else notices.
//
// DaemonSets and nodes are listed, not watched, in small pages: the report is for people. Of a
// DaemonSet only what decides is kept, within limits; those beyond are counted in a metric. Images
// are inspected one DaemonSet at a time, in the queue of the pods.
//
// A condition of the ClusterPodPlacementConfig does not name them: the operator writes conditions,
// and the images are known here.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/namespace_selection.h"
#include "cluster-controller/pod_inspector.h"
#include "cluster-controller/template_metrics.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/controller/event_recorder.h"
#include "kube/types/core.pb.h"
#include "kube/types/workloads.pb.h"
#include "placement/daemon_nodes.h"
#include "placement/platforms.h"

namespace cluster_controller {

// Between two reports; and as much more for each node that was read.
inline constexpr std::chrono::minutes kReportEvery{10};
inline constexpr std::chrono::milliseconds kReportForEachNode{200};
// After a report that failed, such as before the operator has given the rights for it.
inline constexpr std::chrono::seconds kRetryReportAfter{10};
// The images of one DaemonSet.
inline constexpr std::chrono::seconds kInspectDaemonSetWithin{60};
// What is kept: of one DaemonSet, and of all.
inline constexpr size_t kMaxDaemonSetBytes = 16u << 10;
inline constexpr size_t kMaxDaemonSetsBytes = 1u << 20;
inline constexpr size_t kMaxDaemonSets = 1'000;
// An event of a DaemonSet is repeated, while the API server keeps it for an hour.
inline constexpr std::chrono::minutes kRepeatReportAfter{50};

class DaemonSetReport {
 public:
  struct Parts {
    // Its DaemonSets are left out.
    std::string operator_namespace;
    kube::Client& client;
    kube::Clock& clock;
    kube::EventRecorder& events;
    PodInspector& inspector;
    NamespaceSelection& namespaces;
    TemplateMetrics& metrics;
  };

  // All parts outlive it.
  explicit DaemonSetReport(Parts parts) : parts_(std::move(parts)) {}

  void Follow(std::shared_ptr<const api::ClusterPodPlacementConfig> config) {
    config_ = std::move(config);
  }
  // To be called with a TemplateKey() of the report that is woken.
  void Wake() {
    ++wakes_;
    woken_.NotifyAll();
  }

  // Reports until cancelled.
  kube::asio::awaitable<void> Run();
  // One report. Returns: how many nodes were read. Errors: the API server's.
  kube::Async<size_t> Report();

 private:
  struct Candidate {
    kube::core::ObjectReference reference;
    // What decides of its template.
    kube::core::Pod pod;
    bool known = false;
    placement::CommonPlatforms images;
    // The first node of each architecture that the images lack.
    std::map<std::string, std::string> lacking;
  };
  struct Reported {
    std::string message;
    kube::TimePoint at;
  };

  kube::Async<> ListDaemonSets(std::vector<Candidate>& candidates, size_t& left_out);
  // `selected`: the namespaces that were read for this report.
  kube::Async<> Inspect(Candidate& candidate, std::map<std::string, bool>& selected);
  kube::Async<size_t> CompareNodes(std::vector<Candidate>& candidates);
  void Publish(const std::vector<Candidate>& candidates, size_t left_out);
  // nullptr: the report is off.
  const api::ClusterPodPlacementConfig* Config() const;

  Parts parts_;
  std::shared_ptr<const api::ClusterPodPlacementConfig> config_;
  kube::Notifier woken_;
  uint64_t wakes_ = 0;
  std::map<std::string, Reported> reported_;  // by UID
};

// What a report keeps of a DaemonSet: the images with their pull policies and secrets, and what
// decides on which nodes it runs.
kube::core::Pod ReportedPod(const std::string& ns,
                            const kube::workloads::PodTemplateSpec& pod_template);

}  // namespace cluster_controller
