// SPDX-License-Identifier: Apache-2.0
// DaemonSetReport finds the DaemonSets whose images are not for a platform of the nodes that they
// run on: the pods there fail with "exec format error", or cannot pull their images. Each gets an
// event; their number is a metric. The pods of DaemonSets are never gated, so nothing else notices.
// It also finds those whose images are now for more nodes than daemonSets.patchTemplates has
// required when they were created.
//
// DaemonSets and nodes are listed, not watched, in small pages: the report is for people. Of a
// DaemonSet only what decides is kept, encoded, within limits of each namespace and of all; those
// beyond are counted in a metric. Images are inspected in the queue of the pods, a few DaemonSets
// at a time: the first of each namespace, then the second of each, and so on, until the time for
// the report is over. The next report begins with the namespace that had no turn.
//
// A condition of the ClusterPodPlacementConfig does not name them: the operator writes conditions,
// and the images are known here.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/cluster_pod_placement_config.h"
#include "cluster-controller/term_feature.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"
#include "placement/architecture.h"
#include "placement/daemon_nodes.h"
#include "placement/platforms.h"
#include "templates/template_metrics.h"

namespace templates {

// Between two reports; and as much more for each node that was read.
inline constexpr std::chrono::minutes kReportEvery{10};
inline constexpr std::chrono::milliseconds kReportForEachNode{200};
// After a report that failed, such as before the operator has given the rights for it; doubled by
// each further failure, up to kReportEvery.
inline constexpr std::chrono::seconds kRetryReportAfter{10};
// The images of one DaemonSet, and of all.
inline constexpr std::chrono::seconds kInspectDaemonSetWithin{60};
inline constexpr std::chrono::seconds kInspectAllWithin{600};
inline constexpr size_t kInspectedAtATime = 8;
// What is kept: of one DaemonSet, of those of a namespace, and of all.
inline constexpr size_t kMaxDaemonSetBytes = 16u << 10;
inline constexpr size_t kMaxBytesOfNamespace = 64u << 10;
inline constexpr size_t kMaxBytes = 1u << 20;
inline constexpr size_t kMaxDaemonSetsOfNamespace = 50;
inline constexpr size_t kMaxDaemonSets = 1'000;
// Of each namespace, even beyond those of all.
inline constexpr size_t kAlwaysOfNamespace = 2;
inline constexpr size_t kAlwaysBytesOfNamespace = 1u << 10;
// Pairs of operating system and architecture that the images of a DaemonSet have in common. No real
// image has more than a dozen.
inline constexpr size_t kMaxPlatforms = 32;
// An event of a DaemonSet is repeated, while the API server keeps it for an hour.
inline constexpr std::chrono::minutes kRepeatReportAfter{50};

class DaemonSetReport {
 public:
  // All parts outlive it.
  DaemonSetReport(const cluster_controller::TermParts& parts, TemplateMetrics& metrics)
      : parts_(parts), metrics_(metrics) {}

  void Follow(std::shared_ptr<const api::ClusterPodPlacementConfig> config) {
    config_ = std::move(config);
    woken_.NotifyAll();
  }
  // To be called with the TemplateKey() of a DaemonSet whose images may be known.
  void Wake(const kube::ObjectKey& key);

  // Reports while the plugin asks for it, until cancelled.
  kube::asio::awaitable<void> Run();

 private:
  struct Candidate {
    kube::core::ObjectReference reference;
    kube::ObjectKey key;
    // How many of its namespace come before.
    size_t rank = 0;
    // PodOf() its template, encoded; once the images are known, only NodeConstraintsOf() that.
    std::string pod;
    std::optional<placement::CommonPlatforms> images;
    // What daemonSets.patchTemplates has required.
    placement::ArchitectureSet required;
    // The first node of each platform that the images are not for; at most kShown + 1.
    std::map<std::string, std::string> lacking;
    // The same of those that they are for, and that only `required` excludes.
    std::map<std::string, std::string> excluded;
  };
  struct Inspection {
    Candidate* candidate;
    kube::TimePoint until;
  };
  struct Reported {
    std::string message;
    kube::TimePoint at;
  };
  static constexpr size_t kShown = 4;

  // Returns: how many nodes were read. Errors: the API server's.
  kube::Async<size_t> Report();
  kube::Async<> ListDaemonSets(std::vector<Candidate>& candidates, size_t& left_out);
  // Errors: kCancelled. What cannot be inspected is not known.
  kube::Async<> InspectAll(std::vector<Candidate>& candidates);
  // Returns: whether the inspection has ended.
  kube::Async<bool> Inspect(Candidate& candidate);
  kube::Async<size_t> CompareNodes(std::vector<Candidate>& candidates);
  void Publish(const std::vector<Candidate>& candidates, size_t left_out);
  static void CompareNode(const placement::NodeView& node, const kube::core::PodSpec& spec,
                          const kube::core::PodSpec& unrestricted, Candidate& candidate);
  static std::string MessageOf(const Candidate& candidate);
  // Nothing is known any more.
  void Clear();
  // nullptr: the report is off.
  const api::ClusterPodPlacementConfig* Config() const;

  cluster_controller::TermParts parts_;
  TemplateMetrics& metrics_;
  std::shared_ptr<const api::ClusterPodPlacementConfig> config_;
  kube::Notifier woken_;
  // In progress, and those of them to be looked at.
  std::map<kube::ObjectKey, Inspection> inspections_;
  std::set<kube::ObjectKey> due_;
  std::map<std::string, Reported> reported_;  // by UID
  // The namespace whose images are inspected first.
  std::string begin_;
};

}  // namespace templates
