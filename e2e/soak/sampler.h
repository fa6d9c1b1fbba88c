// SPDX-License-Identifier: Apache-2.0
// Sampler: writes a sample of every process to the log of the run, again and again. A process that
// ended although no fault killed it is a failure of the run.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "e2e/soak/faults.h"
#include "e2e/soak/soak_log.h"
#include "e2e/soak/soaked_process.h"
#include "kube/base/async.h"

namespace e2e {

class Sampler {
 public:
  // All outlive this.
  Sampler(ProcessCluster& cluster, const FleetLoad& fleet, const Faults& faults, SoakLog& log,
          std::chrono::milliseconds every);

  // Until cancelled.
  boost::asio::awaitable<void> Run();

 private:
  kube::Async<> SampleAll();
  // `tasks` and `requests`; null while the process does not answer.
  kube::Async<kube::Json> ReadMetrics(SoakedProcess process);
  // The number of the series of this process.
  int SeriesOf(const SoakedProcess& process);

  ProcessCluster& cluster_;
  const FleetLoad& fleet_;
  const Faults& faults_;
  SoakLog& log_;
  std::chrono::milliseconds every_;
  std::string token_;
  struct Known {
    pid_t pid = 0;
    int series = 0;
    int unexplained = 0;  // restarts that were reported
  };
  std::map<std::string, Known> known_;  // by the process's name
};

}  // namespace e2e
