// SPDX-License-Identifier: Apache-2.0
// Facts: what the checker is told besides the commits. The simulation, or the recorder of real
// processes, fills it while the run goes on.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "sim/checker/commit.h"
#include "sim/checker/image_truth.h"

namespace sim::checker {

// Bounds of times. Those with a source in a document have its value; the others depend on the
// faults of the run.
struct Timing {
  // The longest that a watch of configurations or namespaces lags behind.
  Time watch_lag = std::chrono::seconds(10);
  // How long an API server may still use a webhook configuration or policy after a change
  // (docs/operations.md: about a second), with the admission and the write of a pod.
  Time admission_lag = std::chrono::seconds(12);
  // How long a tag is cached, and how long it is used while its registry fails
  // (docs/reference.md, Limits), by the slowest clock.
  Time tag_cache = std::chrono::seconds(61);
  Time stale_images = std::chrono::hours(24);
  // How long a tag counts as known for pods that are placed at their creation
  // (docs/reference.md, Limits), by the slowest clock, and for those that always pull.
  Time known_tag = std::chrono::seconds(631);
  Time known_tag_of_always = std::chrono::seconds(91);
  // From a failed request to a registry to the commit of the write that it causes: an attempt of
  // 30 s, the write, its retries.
  Time inspection_lag = std::chrono::seconds(120);
  // How long a namespace whose configurations have no preferences any more counts as one with, for
  // pods that require their architecture (docs/reference.md, Limits), until an API server knows it.
  Time preferences_kept = std::chrono::seconds(165);
  // How much faster than the world's the clock of a process may run.
  double fastest_clock = 1.01;
  // A pod that keeps the gate longer than this, beyond the periods of the ClusterPodPlacementConfig
  // and without a fault, waits for ever.
  Time release_slack = std::chrono::seconds(60);
  // When the objects of a removed configuration, and a namespace that is being deleted, are gone.
  Time removal = std::chrono::minutes(5);
  // Until the announcement of a deleted configuration is removed (docs/protocol.md, N8).
  Time withdrawal = std::chrono::seconds(60);
  // From the last fault or change of a configuration until everything is in force again.
  Time rollout = std::chrono::minutes(3);
  // A configuration is stored this long after its announcement, or later
  // (docs/decisions/announcements.md).
  Time announced_ahead = std::chrono::milliseconds(250);
  // How long after its ClusterRoleBinding is deleted a right may still be used.
  Time rights_lag = std::chrono::seconds(30);
};

// Writes of pods that the API server refused (403, 422, a policy): after one, the documents allow a
// write that only removes the gates.
class Refusals {
 public:
  void Add(const std::string& user, const kube::ObjectKey& pod, Time at) {
    refused_[{user, pod}].push_back(at);
  }
  bool Between(const std::string& user, const kube::ObjectKey& pod, Time from, Time to) const {
    auto found = refused_.find({user, pod});
    if (found == refused_.end()) return false;
    for (Time at : found->second) {
      if (at >= from && at <= to) return true;
    }
    return false;
  }

 private:
  std::map<std::pair<std::string, kube::ObjectKey>, std::vector<Time>> refused_;
};

// Periods in which something was so.
class Periods {
 public:
  void Begin(Time at) { periods_.emplace_back(at, Time::max()); }
  void End(Time at) {
    if (!periods_.empty() && periods_.back().second == Time::max()) periods_.back().second = at;
  }
  bool Overlap(Time from, Time to) const {
    for (const auto& [begin, end] : periods_) {
      if (begin <= to && end >= from) return true;
    }
    return false;
  }

 private:
  std::vector<std::pair<Time, Time>> periods_;
};

struct Facts {
  std::string operator_namespace = std::string(api::kDefaultOperatorNamespace);
  // --excluded-namespaces of the operator, without the "*".
  std::vector<std::string> excluded_prefixes = {};
  ImageTruth images = {};
  // Whether `images` says what images were. Otherwise a requirement has to be one that some images
  // cause, with the labels and tolerations that belong to it.
  bool images_known = true;
  Refusals refusals = {};
  // Requests for Secrets may fail: an inspection of a pod with pull secrets fails then.
  Periods secret_faults = {};
  // Writes of announcements may fail.
  Periods announcement_faults = {};
  // When a process of the cluster controller ended: with its name, the next one keeps the Lease.
  std::vector<Time> controller_ends = {};
  // Since when there is no fault, and every operand may run; Time::max(): there are faults.
  Time calm_since = Time::max();
  // The same, whether operands run or not: new ones may be starting.
  Time undisturbed_since = Time::max();
  Timing timing = {};
};

}  // namespace sim::checker
