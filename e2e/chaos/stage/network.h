// SPDX-License-Identifier: Apache-2.0
// ChaosNetwork: where the programs of a run listen, and the proxies between them.
//
//   operator's pods ── pods() ──┐                  ┌─ etcd(0, m) ─┐
//   tests, controllers ─ clients() ─ 2 API servers ┤              ├─ 3 members of etcd ── peers(m)
//                                                  └─ etcd(1, m) ─┘
//   cluster controller ── registry() ── registry
//
// API servers call webhooks directly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "e2e/chaos/proxy/fault_proxy.h"
#include "e2e/chaos/proxy/proxy_thread.h"
#include "e2e/cluster_harness/control_plane.h"
#include "kube/base/error.h"

namespace e2e {

class ChaosNetwork {
 public:
  static constexpr size_t kApiServers = 2;
  static constexpr size_t kEtcdMembers = 3;

  // Starts a thread: call EnterOwnNetwork() first. Errors: kUnavailable.
  static kube::Result<std::unique_ptr<ChaosNetwork>> Make();

  // Sets the addresses.
  void Configure(ControlPlaneOptions& options) const;
  static std::string ApiServerHost(size_t number);
  static std::string EtcdHost(size_t member);
  // host:port of the registry, for images.
  static std::string RegistryAddress();

  // From the operator's pods to the API servers.
  FaultProxy& pods() { return *pods_; }
  // From the API server to a member of etcd.
  FaultProxy& etcd(size_t api_server, size_t member) {
    return *etcd_[api_server * kEtcdMembers + member];
  }
  // From the other members of etcd to this one.
  FaultProxy& peers(size_t member) { return *peers_[member]; }
  FaultProxy& registry() { return *registry_; }

  // The clients of the test, which have no faults, use the other API server, or this one again.
  void Avoid(size_t api_server);
  void Use(size_t api_server);

 private:
  ChaosNetwork() = default;
  kube::Result<> Listen();

  ProxyThread thread_;
  std::unique_ptr<FaultProxy> clients_, pods_, registry_;
  std::vector<std::unique_ptr<FaultProxy>> etcd_, peers_;
};

}  // namespace e2e
