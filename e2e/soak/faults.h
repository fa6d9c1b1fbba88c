// SPDX-License-Identifier: Apache-2.0
// Faults: one fault after the other, chosen by a seed. The table is in faults.cc.
//
// A fault lasts until what it broke runs again; the QuietClock stands still meanwhile.
#pragma once

#include <chrono>
#include <map>
#include <random>
#include <set>
#include <string>

#include "e2e/soak/quiet_clock.h"
#include "e2e/soak/soak_log.h"
#include "e2e/soak/soaked_process.h"
#include "kube/base/async.h"

namespace e2e {

class Faults {
 public:
  struct Options {
    // From the start of one fault to that of the next; zero: no faults.
    std::chrono::milliseconds every{60'000};
    uint64_t seed = 1;
  };

  // All outlive this.
  Faults(ProcessCluster& cluster, FleetLoad& fleet, QuietClock& quiet, SoakLog& log,
         Options options);

  // Until cancelled, which also ends a fault.
  boost::asio::awaitable<void> Run();

  // How often a fault has killed the process of that name.
  int Kills(const std::string& name) const;
  bool IsFrozen(pid_t pid) const { return frozen_ == pid; }

 private:
  // Each returns its target, when the fault is over.
  kube::Async<std::string> Kill();
  kube::Async<std::string> Freeze();
  kube::Async<std::string> RestartApiServer();
  kube::Async<std::string> CompactAndRestart();
  kube::Async<std::string> FreezeRegistry();

  struct Fault {
    const char* name;
    int weight;  // how often it is chosen, in relation to the others
    kube::Async<std::string> (Faults::*inject)();
  };
  static const Fault kTable[];
  const Fault& Choose();

  kube::Async<> InjectOne();
  // Any process of any program, each program as often as another.
  kube::Result<SoakedProcess> ChooseProcess();
  // Until it serves the operator's kinds. /readyz fails for longer, a minute on a busy machine, and
  // programs do not ask it. Returns what to say about a slow start, or "".
  kube::Async<std::string> AwaitApiServer();
  int Random(int from, int to) { return std::uniform_int_distribution<int>(from, to)(random_); }

  ProcessCluster& cluster_;
  FleetLoad& fleet_;
  QuietClock& quiet_;
  SoakLog& log_;
  Options options_;
  std::mt19937_64 random_;
  std::map<std::string, int> kills_;
  pid_t frozen_ = 0;
};

}  // namespace e2e
