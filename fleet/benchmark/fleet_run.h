// SPDX-License-Identifier: Apache-2.0
// FleetRun: measures the hub's program on a fleet (fleet_model.h), with a watch of all its
// decisions.
//
//   FleetRun run(cluster, {.clusters = 5000, .placements = 500});
//   Result<> created = run.Create();
//   Result<Pass> first = run.FirstPass();
//   Result<ChangeTimes> labels = run.Change(ChangeKind::kLabel, 50);
//   Result<> right = run.Verify();
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "benchmarks/measurement.h"
#include "e2e/cluster_harness/process_cost.h"
#include "e2e/cluster_harness/request_log.h"
#include "e2e/framework/follower.h"
#include "fleet/benchmark/fleet_model.h"
#include "fleet/e2e/decision_log.h"
#include "fleet/e2e/fleet_cluster.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/types/resource.h"
#include "kube/types/unstructured.h"

namespace benchmarks {

struct FleetOptions {
  int clusters = 5000;
  int placements = 500;
  // Without a write for this long, the hub has done what it does about a change.
  std::chrono::milliseconds quiet{1'000};
  // Timeout for each step.
  std::chrono::seconds timeout{900};
};

// The hub's write requests, without the renewals of its Lease.
using Writes = std::map<std::string, int>;  // "patch placements/status" -> how many

// A pass over all Placements.
struct Pass {
  double seconds = 0;      // from the start of the process to the last write, or decision
  double cpu_seconds = 0;  // of the hub, until it has nothing to do but to send events
  Writes writes;           // events included
  e2e::ProcessCost cost;   // of the hub, after that
};

// A cluster gets or loses a taint, moves to another region, gets a score or loses it.
enum class ChangeKind { kTaint, kLabel, kScore };
std::string_view NameOf(ChangeKind kind);

// Changes of one kind, made in sequence. Times are from the call that makes the change.
struct ChangeTimes {
  int changes = 0;
  Times decided;           // until all decisions have it
  Times last_write;        // until nothing more is written
  double mean_writes = 0;  // of PlacementDecisions and Placements, for one change
};

struct Rest {
  double cpu_ms_per_minute = 0;
  Writes writes;
};

class FleetRun {
 public:
  // `cluster` has an audit log, no hub runs, and it outlives this.
  FleetRun(e2e::FleetCluster& cluster, FleetOptions options);
  ~FleetRun();
  FleetRun(const FleetRun&) = delete;
  FleetRun& operator=(const FleetRun&) = delete;

  // The fleet, without decisions.
  kube::Result<> Create();
  // Starts the hub.
  kube::Result<Pass> FirstPass();
  // Starts the hub again; nothing has changed.
  kube::Result<Pass> Restart();
  kube::Result<ChangeTimes> Change(ChangeKind kind, int changes);
  // Nothing happens.
  kube::Result<Rest> AtRest(std::chrono::seconds time);
  // kInvalid if a Placement does not have the clusters that it must have, each in one decision, or
  // if the watch had a gap and so missing() is not known.
  kube::Result<> Verify();

  // What the watch of the decisions saw since the start.
  const e2e::DecisionLog& log() const { return log_; }
  // kUnavailable if the hub does not run.
  kube::Result<e2e::ProcessCost> HubCost() const;

 private:
  struct Seen {
    kube::TimePoint decided;
    kube::TimePoint last_write;
  };

  void OnPlacement(const std::string& type, const kube::Json& placement);
  void OnWrite() {
    ++written_;
    last_write_ = cluster_.clock().Now();
  }
  kube::Result<> Start();
  // How many Placements this process of the hub has scheduled, as its metrics count them. Blocks.
  // kUnavailable while it does not serve them.
  kube::Result<int64_t> HubPasses();
  // `took` until now, when all is decided.
  kube::Result<Pass> Finish(kube::Duration took);
  // What the hub has written since the last call.
  kube::Result<Writes> TakeWrites();
  // Waits until `holds`, and then until options.quiet after the last write, of which there must be
  // one after `start`. `what` is for the error.
  kube::Result<Seen> Await(kube::TimePoint start, const std::function<bool()>& holds,
                           const std::string& what);
  // One change of a cluster, the `number`th of its kind, until it is decided.
  kube::Result<Seen> ChangeTaint(int number, kube::TimePoint start);
  kube::Result<Seen> ChangeLabel(int number, kube::TimePoint start);
  kube::Result<Seen> ChangeScore(int number, kube::TimePoint start);
  // Whether each Placement by region, and of all clusters, is right about `cluster`.
  bool RightAbout(int cluster) const;
  bool SelectedByScore(int cluster, bool selected) const;

  e2e::FleetCluster& cluster_;
  FleetOptions options_;
  FleetModel model_;
  e2e::DecisionLog log_;
  // Placements with the condition PlacementSatisfied True, and how many clusters they have.
  std::unordered_map<kube::ObjectKey, int64_t> satisfied_;
  int64_t written_ = 0;
  kube::TimePoint last_write_;
  std::string hub_kubeconfig_;
  e2e::RequestLog requests_;
  e2e::Follower decisions_;
  e2e::Follower placements_;
  kube::TaskGroup tasks_;
  int raised_ = 0;  // the cluster whose score was raised last
};

}  // namespace benchmarks
