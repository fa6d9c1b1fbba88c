// SPDX-License-Identifier: Apache-2.0
// PodLoad: creates pods at a steady rate and deletes each some time after it was ungated. A pod
// that stays gated for too long without a fault is a failure of the run.
//
// Most pods name a scheduler that does not exist. Each tenth is scheduled and reported as running,
// so that the agent of the fleet has pods to sum up, and has the image pull policy Always, so that
// the registry is asked about it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/follower.h"
#include "e2e/soak/pod_ledger.h"
#include "e2e/soak/quiet_clock.h"
#include "e2e/soak/soak_log.h"
#include "kube/base/async.h"
#include "kube/base/task_group.h"

namespace e2e {

class PodLoad {
 public:
  struct Options {
    // The pods alternate between them.
    std::vector<std::string> namespaces;
    // Pods a second.
    int rate = 30;
    // How long a pod stays after it was ungated.
    std::chrono::seconds keep{15};
    // Without faults.
    std::chrono::seconds longest_gated{60};
    // Between two lines about pods in the log.
    std::chrono::milliseconds report_every{15'000};
  };
  struct Counts {
    int created = 0;
    int both_gates = 0;  // of those
    int failed = 0;      // calls
    int late = 0;        // not created: all callers waited for the API server
    int deleted = 0;
  };

  // All outlive this.
  PodLoad(ProcessCluster& cluster, const QuietClock& quiet, SoakLog& log, Options options);

  void Start(kube::TaskGroup& tasks);
  // No new pods from now on.
  void StopCreating() { creating_ = false; }
  const Counts& counts() const { return counts_; }
  const PodLedger& ledger() const { return ledger_; }

 private:
  boost::asio::awaitable<void> Create();
  boost::asio::awaitable<void> Delete();
  boost::asio::awaitable<void> Judge();
  boost::asio::awaitable<void> Report();

  kube::Async<> CreateOne(int number);
  kube::Async<> DeleteOne(kube::ObjectKey pod);
  // The ledger says that the pod is gated for too long: fails the run if it is.
  kube::Async<> JudgeOne(PodLedger::Gated gated);
  void OnPod(const std::string& type, const Json& pod);
  Json NewPod(int number) const;

  ProcessCluster& cluster_;
  const QuietClock& quiet_;
  SoakLog& log_;
  Options options_;
  PodLedger ledger_;
  Follower pods_;
  kube::TimePoint start_;
  bool creating_ = true;
  int next_ = 0;
  Counts counts_;
  kube::Duration longest_{};  // since the last report
};

}  // namespace e2e
