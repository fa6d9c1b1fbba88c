// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include "e2e/chaos/faults/faults.h"
#include "e2e/cluster_harness/etcd_calls.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Result;

namespace {

constexpr char kAllStored[] = "what was stored stays; watches go on";

// Kills these programs until the end of the fault.
Result<EndFault> KillPrograms(Stage& stage, std::vector<std::string> programs) {
  for (const std::string& program : programs) {
    // It may have ended, and is not started again in the meantime then.
    kube::IgnoreError(stage.plane().Kill(program), "it is down, which is what is wanted");
  }
  return EndFault([programs = std::move(programs)](Stage& ended) {
    for (const std::string& program : programs)
      kube::IgnoreError(ended.plane().Restart(program), "the end of the run finds it");
  });
}

Result<EndFault> StopProgram(Stage& stage, const std::string& program) {
  Result<> stopped = stage.plane().Signal(program, SIGSTOP);
  if (!stopped) return stopped.error();
  return EndFault([program](Stage& ended) {
    kube::IgnoreError(ended.plane().Signal(program, SIGCONT), "it has ended");
  });
}

Result<EndFault> KillApiServer(Stage& stage, uint64_t pick) {
  return KillPrograms(stage, {ControlPlane::ApiServerName(pick % ChaosNetwork::kApiServers)});
}

Result<EndFault> KillApiServers(Stage& stage, uint64_t) {
  return KillPrograms(stage, {ControlPlane::ApiServerName(0), ControlPlane::ApiServerName(1)});
}

Result<EndFault> StopApiServer(Stage& stage, uint64_t pick) {
  const size_t number = pick % ChaosNetwork::kApiServers;
  Result<EndFault> stopped = StopProgram(stage, ControlPlane::ApiServerName(number));
  if (!stopped) return stopped.error();
  stage.network().Avoid(number);
  return EndFault([number, go_on = *stopped](Stage& ended) {
    go_on(ended);
    ended.network().Use(number);
  });
}

Result<EndFault> KillEtcdMember(Stage& stage, uint64_t pick) {
  return KillPrograms(stage, {ControlPlane::EtcdName(pick % ChaosNetwork::kEtcdMembers)});
}

Result<EndFault> KillEtcdMembers(Stage& stage, uint64_t pick) {
  const size_t first = pick % ChaosNetwork::kEtcdMembers;
  return KillPrograms(stage, {ControlPlane::EtcdName(first),
                              ControlPlane::EtcdName((first + 1) % ChaosNetwork::kEtcdMembers)});
}

Result<EndFault> KillEtcdLeader(Stage& stage, uint64_t) {
  Result<size_t> leader = stage.EtcdLeader();
  if (!leader) return leader.error();
  return KillPrograms(stage, {ControlPlane::EtcdName(*leader)});
}

Result<EndFault> StopEtcdLeader(Stage& stage, uint64_t) {
  Result<size_t> leader = stage.EtcdLeader();
  if (!leader) return leader.error();
  return StopProgram(stage, ControlPlane::EtcdName(*leader));
}

// The member panics, and is started again and again; with room, it works again.
Result<EndFault> FillEtcdDisk(Stage& stage, uint64_t pick) {
  const size_t member = pick % ChaosNetwork::kEtcdMembers;
  Result<> filled = stage.etcd_disk(member).Fill();
  if (!filled) return filled.error();
  return EndFault([member](Stage& ended) { ended.etcd_disk(member).Release(); });
}

// One API server is cut off from etcd while others write, and cannot resume its watches there.
Result<EndFault> Compact(Stage& stage, uint64_t pick) {
  const size_t api_server = pick % ChaosNetwork::kApiServers;
  auto set = [api_server](Stage& of, const LinkFaults& faults) {
    for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m)
      of.network().etcd(api_server, m).Set(0, faults);
  };
  stage.network().Avoid(api_server);
  set(stage, Cut());
  return EndFault([api_server, set](Stage& ended) {
    for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m) {
      const std::string host = ChaosNetwork::EtcdHost(m);
      Result<EtcdStatus> status = ended.cluster().Run(StatusOfEtcd(host));
      if (!status) continue;
      Result<> compacted = ended.cluster().Run(CompactEtcd(host, status->revision));
      if (compacted) break;
    }
    set(ended, {});
    for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m)
      ended.network().etcd(api_server, m).Reset(0);
    ended.network().Use(api_server);
  });
}

Result<EndFault> StopController(Stage& stage, uint64_t pick) {
  return StopProgram(stage, pick % 2 == 0 ? "kube-controller-manager" : "kube-scheduler");
}

Result<EndFault> KillController(Stage& stage, uint64_t pick) {
  return KillPrograms(stage, {pick % 2 == 0 ? "kube-controller-manager" : "kube-scheduler"});
}

Result<EndFault> StopRegistry(Stage& stage, uint64_t) {
  stage.cluster().test_registry().Freeze();
  return EndFault([](Stage& ended) { ended.cluster().test_registry().Thaw(); });
}

}  // namespace

std::vector<FaultKind> ControlPlaneFaults() {
  return {
      {{"API server killed", kApiServerArea, 2s, 10s},
       "SIGKILL of one API server",
       kAllStored,
       KillApiServer},
      {{"API servers killed", kApiServerArea, 2s, 8s},
       "SIGKILL of both API servers",
       kAllStored,
       KillApiServers},
      {{"API server stopped", kApiServerArea, 5s, 20s},
       "SIGSTOP of one API server: connections stay open",
       kAllStored,
       StopApiServer},
      {{"etcd member killed", kEtcdArea, 2s, 10s},
       "SIGKILL of a member of etcd",
       kAllStored,
       KillEtcdMember},
      {{"etcd leader killed", kEtcdArea, 2s, 10s},
       "SIGKILL of the leader of etcd",
       kAllStored,
       KillEtcdLeader},
      {{"etcd leader stopped", kEtcdArea, 3s, 15s},
       "SIGSTOP of the leader of etcd, which goes on as a deposed one",
       kAllStored,
       StopEtcdLeader},
      {{"etcd without quorum, killed", kEtcdArea, 2s, 8s},
       "SIGKILL of two members of etcd",
       kAllStored,
       KillEtcdMembers},
      {{"etcd disk full", kEtcdArea, 3s, 10s},
       "the tmpfs of a member of etcd is full",
       kAllStored,
       FillEtcdDisk},
      {{"compaction", kEtcdLinkArea, 3s, 8s},
       "one API server is cut off from etcd, which is compacted meanwhile: 410",
       "programs list again and miss nothing",
       Compact},
      {{"controllers stopped", kControllersArea, 5s, 15s},
       "SIGSTOP of kube-controller-manager or kube-scheduler",
       kAllStored,
       StopController},
      {{"controllers killed", kControllersArea, 2s, 10s},
       "SIGKILL of kube-controller-manager or kube-scheduler",
       kAllStored,
       KillController},
      {{"registry stopped", kRegistryArea, 5s, 15s},
       "SIGSTOP of the registry",
       "a pod waits for its images no longer than five attempts",
       StopRegistry},
  };
}

}  // namespace e2e
