// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/stage/network.h"

#include "e2e/cluster_harness/registry.h"

namespace e2e {

using kube::Ok;
using kube::Result;

namespace {

constexpr int kApiPort = 6443, kEtcdPort = 2379, kPeerPort = 2380, kRegistryPort = 5000;
constexpr char kClients[] = "127.0.3.1";
constexpr char kPods[] = "127.0.3.2";
constexpr char kRegistry[] = "10.250.255.252";  // in kPodNetwork

std::string In(const std::string& network, size_t number) {
  return network + std::to_string(number + 1);
}
std::string PeerHost(size_t member) { return In("127.0.2.", member); }
std::string EtcdProxyHost(size_t api_server, size_t member) {
  return In("127.0." + std::to_string(10 + api_server) + ".", member);
}

FaultProxy::Endpoint RegistryEndpoint() {
  const std::string address = TestRegistry::address();
  const size_t colon = address.find(':');
  return AddressAt(address.substr(0, colon), std::stoi(address.substr(colon + 1)));
}

}  // namespace

Result<std::unique_ptr<ChaosNetwork>> ChaosNetwork::Make() {
  std::unique_ptr<ChaosNetwork> network(new ChaosNetwork());
  Result<> listening = network->Listen();
  if (!listening) return listening.error();
  return network;
}

Result<> ChaosNetwork::Listen() {
  Result<> done = Ok();
  auto proxy = [&](const std::string& host, int port, std::vector<FaultProxy::Endpoint> targets) {
    std::unique_ptr<FaultProxy> made;
    if (!done) return made;
    auto listening = FaultProxy::Listen(thread_, AddressAt(host, port), std::move(targets));
    if (listening) {
      made = std::move(*listening);
    } else {
      done = listening.error();
    }
    return made;
  };
  std::vector<FaultProxy::Endpoint> api_servers;
  for (size_t i = 0; i < kApiServers; ++i)
    api_servers.push_back(AddressAt(ApiServerHost(i), kApiPort));
  clients_ = proxy(kClients, kApiPort, api_servers);
  pods_ = proxy(kPods, kApiPort, api_servers);
  registry_ = proxy(kRegistry, kRegistryPort, {RegistryEndpoint()});
  for (size_t i = 0; i < kApiServers; ++i) {
    for (size_t m = 0; m < kEtcdMembers; ++m)
      etcd_.push_back(proxy(EtcdProxyHost(i, m), kEtcdPort, {AddressAt(EtcdHost(m), kEtcdPort)}));
  }
  for (size_t m = 0; m < kEtcdMembers; ++m)
    peers_.push_back(proxy(PeerHost(m), kPeerPort, {AddressAt(EtcdHost(m), kPeerPort)}));
  return done;
}

std::string ChaosNetwork::ApiServerHost(size_t number) { return In("127.0.0.", number); }

std::string ChaosNetwork::EtcdHost(size_t member) { return In("127.0.1.", member); }

std::string ChaosNetwork::RegistryAddress() {
  return std::string(kRegistry) + ":" + std::to_string(kRegistryPort);
}

void ChaosNetwork::Configure(ControlPlaneOptions& options) const {
  for (size_t m = 0; m < kEtcdMembers; ++m) options.etcd.push_back({EtcdHost(m), PeerHost(m)});
  for (size_t i = 0; i < kApiServers; ++i) {
    ApiServerPlace place{.address = ApiServerHost(i), .etcd = {}};
    for (size_t m = 0; m < kEtcdMembers; ++m) place.etcd.push_back(EtcdProxyHost(i, m));
    options.api_servers.push_back(std::move(place));
  }
  options.clients_address = kClients;
  options.pods_address = kPods;
}

void ChaosNetwork::Avoid(size_t api_server) {
  clients_->Set(api_server, {.refuse = true});
  clients_->Reset(api_server);
}

void ChaosNetwork::Use(size_t api_server) { clients_->Set(api_server, {}); }

}  // namespace e2e
