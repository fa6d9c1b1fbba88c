// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "e2e/chaos/faults/faults.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

namespace {

constexpr char kTakenOver[] =
    "its work is done by another replica, by the cluster controller, or after its restart";
constexpr char kOneDecides[] = "what it writes late, fails or changes nothing";

// The kubelet starts it again.
EndFault Nothing() {
  return [](Stage&) {};
}

Result<EndFault> Kill(Stage& stage, const Result<Stage::Process>& process) {
  if (!process) return process.error();
  stage.Signal(*process, SIGKILL);
  return Nothing();
}

Result<EndFault> Stop(Stage& stage, const Result<Stage::Process>& process) {
  if (!process) return process.error();
  stage.Signal(*process, SIGSTOP);
  return EndFault([process = *process](Stage& ended) { ended.Signal(process, SIGCONT); });
}

FaultKind KillOne(const std::string& program) {
  return {
      {program + " killed", AreaOfProgram(program), 2s, 5s},
      "SIGKILL of a process of " + program,
      kTakenOver,
      [program](Stage& stage, uint64_t pick) { return Kill(stage, stage.Pick(program, pick)); }};
}

FaultKind StopOne(const std::string& program) {
  return {
      {program + " stopped", AreaOfProgram(program), 5s, 20s},
      "SIGSTOP of a process of " + program,
      kTakenOver,
      [program](Stage& stage, uint64_t pick) { return Stop(stage, stage.Pick(program, pick)); }};
}

FaultKind KillLeader(const std::string& program) {
  return {{program + " leader killed", AreaOfProgram(program), 2s, 5s},
          "SIGKILL of the leader of " + program,
          kTakenOver,
          [program](Stage& stage, uint64_t pick) {
            return Kill(stage, stage.PickLeader(program, pick));
          }};
}

// For longer than the Lease of operator and cluster controller lasts.
FaultKind StopLeader(const std::string& program) {
  return {{program + " leader stopped", AreaOfProgram(program), 16s, 24s},
          "SIGSTOP of the leader of " + program + ", which goes on after its Lease",
          kOneDecides,
          [program](Stage& stage, uint64_t pick) {
            return Stop(stage, stage.PickLeader(program, pick));
          }};
}

Result<EndFault> KillAll(Stage& stage, uint64_t) {
  for (const char* program : {"operator", "webhook", "shard", "cluster-controller"}) {
    for (const Stage::Process& process : stage.Processes(program)) stage.Signal(process, SIGKILL);
  }
  return Nothing();
}

}  // namespace

std::vector<FaultKind> ProgramFaults() {
  std::vector<FaultKind> kinds;
  for (const char* program : {"operator", "webhook", "shard", "cluster-controller"}) {
    kinds.push_back(KillOne(program));
    kinds.push_back(StopOne(program));
  }
  for (const char* program : {"operator", "shard", "cluster-controller"}) {
    kinds.push_back(KillLeader(program));
    kinds.push_back(StopLeader(program));
  }
  kinds.push_back({{"all programs killed", "all programs", 2s, 5s},
                   "SIGKILL of all processes of the operator at once",
                   kTakenOver,
                   KillAll});
  return kinds;
}

}  // namespace e2e
