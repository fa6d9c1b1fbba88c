// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/faults/faults.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Result;

namespace {

constexpr char kResumes[] = "watches and calls go on; no program ends; no preference is lost";

// From the operator's pods to one API server.
FaultKind OneLink(FaultOutline outline, std::string what, LinkFaults faults) {
  auto begin = [faults](Stage& stage, uint64_t pick) -> Result<EndFault> {
    const size_t target = pick % ChaosNetwork::kApiServers;
    stage.network().pods().Set(target, faults);
    return EndFault([target](Stage& ended) {
      ended.network().pods().Set(target, {});
      // What hung in between is lost, as behind a firewall that forgot the connections.
      ended.network().pods().Reset(target);
    });
  };
  return {std::move(outline), std::move(what), kResumes, begin};
}

// From the operator's pods to both.
FaultKind AllLinks(FaultOutline outline, std::string what, LinkFaults faults, bool reset) {
  auto begin = [faults, reset](Stage& stage, uint64_t) -> Result<EndFault> {
    for (size_t i = 0; i < ChaosNetwork::kApiServers; ++i) {
      stage.network().pods().Set(i, faults);
      if (reset) stage.network().pods().Reset(i);
    }
    return EndFault([](Stage& ended) { ended.network().pods().Heal(); });
  };
  return {std::move(outline), std::move(what), kResumes, begin};
}

// All connections of the operator's pods are reset, at the beginning and at the end.
Result<EndFault> ResetAll(Stage& stage, uint64_t) {
  auto reset = [](Stage& of) {
    for (size_t i = 0; i < ChaosNetwork::kApiServers; ++i) of.network().pods().Reset(i);
  };
  reset(stage);
  return EndFault(reset);
}

void SetEtcdLinks(Stage& stage, size_t api_server, const LinkFaults& faults) {
  for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m)
    stage.network().etcd(api_server, m).Set(0, faults);
}

Result<EndFault> DelayEtcd(Stage& stage, uint64_t) {
  for (size_t i = 0; i < ChaosNetwork::kApiServers; ++i) SetEtcdLinks(stage, i, Latency(60ms));
  return EndFault([](Stage& ended) {
    for (size_t i = 0; i < ChaosNetwork::kApiServers; ++i) SetEtcdLinks(ended, i, {});
  });
}

Result<EndFault> CutApiServerFromEtcd(Stage& stage, uint64_t pick) {
  const size_t api_server = pick % ChaosNetwork::kApiServers;
  stage.network().Avoid(api_server);
  SetEtcdLinks(stage, api_server, Cut());
  return EndFault([api_server](Stage& ended) {
    SetEtcdLinks(ended, api_server, {});
    ended.network().Use(api_server);
  });
}

Result<EndFault> DelayPeers(Stage& stage, uint64_t) {
  for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m)
    stage.network().peers(m).Set(0, Latency(100ms));
  return EndFault([](Stage& ended) {
    for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m) ended.network().peers(m).Heal();
  });
}

Result<EndFault> CutPeers(Stage& stage, uint64_t) {
  for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m) stage.network().peers(m).Set(0, Cut());
  return EndFault([](Stage& ended) {
    for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m) ended.network().peers(m).Heal();
  });
}

FaultKind RegistryLink(FaultOutline outline, std::string what, LinkFaults faults) {
  auto begin = [faults](Stage& stage, uint64_t) -> Result<EndFault> {
    stage.network().registry().Set(0, faults);
    if (faults.refuse) stage.network().registry().Reset(0);
    return EndFault([](Stage& ended) {
      ended.network().registry().Heal();
      ended.network().registry().Reset(0);
    });
  };
  return {std::move(outline), std::move(what),
          "a pod waits for its images no longer than five attempts", begin};
}

}  // namespace

std::vector<FaultKind> NetworkFaults() {
  return {
      AllLinks({"API slow", kPodsLinkArea, 5s, 15s}, "300 ms each way to both API servers",
               Latency(300ms), false),
      OneLink({"API cut", kPodsLinkArea, 5s, 15s},
              "nothing passes between the operator and one API server, then resets", Cut()),
      AllLinks({"API cut, both", kPodsLinkArea, 4s, 12s},
               "nothing passes between the operator and the API servers", Cut(), false),
      OneLink({"API half-open, answers", kPodsLinkArea, 5s, 15s},
              "requests reach one API server, its answers are lost", {.hold_to_client = true}),
      OneLink({"API half-open, requests", kPodsLinkArea, 5s, 15s},
              "requests to one API server are lost, its events arrive", {.hold_to_target = true}),
      {{"API resets", kPodsLinkArea, 1s, 4s},
       "TCP resets of all connections of the operator, twice",
       kResumes,
       ResetAll},
      AllLinks({"API refused", kPodsLinkArea, 3s, 10s},
               "connections to both API servers are reset, and new ones too", {.refuse = true},
               true),
      {{"etcd slow", kEtcdLinkArea, 5s, 15s},
       "60 ms each way between API servers and etcd",
       kResumes,
       DelayEtcd},
      {{"API server stale", kEtcdLinkArea, 5s, 15s},
       "one API server is cut off from etcd: it answers from its cache, or not at all",
       "nothing is decided on what it still says",
       CutApiServerFromEtcd},
      {{"etcd peers slow", kEtcdArea, 5s, 15s},
       "100 ms each way between the members of etcd",
       kResumes,
       DelayPeers},
      {{"etcd without quorum, cut", kEtcdArea, 3s, 8s},
       "nothing passes between the members of etcd: no write succeeds",
       kResumes,
       CutPeers},
      RegistryLink({"registry cut", kRegistryArea, 5s, 15s}, "the registry does not answer", Cut()),
      RegistryLink({"registry refused", kRegistryArea, 5s, 15s},
                   "connections to the registry are reset", {.refuse = true}),
  };
}

}  // namespace e2e
