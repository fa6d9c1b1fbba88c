// SPDX-License-Identifier: Apache-2.0
// FaultProxy: forwards TCP connections to targets, in turn, and disturbs them.
//
//   ProxyThread thread;
//   auto proxy = FaultProxy::Listen(thread, AddressAt("127.0.0.9", 6443),
//                                   {AddressAt("127.0.0.1", 6443), AddressAt("127.0.0.2", 6443)});
//   (*proxy)->Set(0, Latency(200ms));
//   (*proxy)->Set(1, {.hold_to_client = true});
//   (*proxy)->Reset(0);
//   (*proxy)->Heal();
//
// It does not read what it forwards. A target that refuses connections is skipped; one that is
// stopped accepts them, as the kernel does that.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <vector>

#include "e2e/chaos/proxy/link_faults.h"
#include "e2e/chaos/proxy/proxy_thread.h"
#include "kube/base/error.h"

namespace e2e {

// `ip` must be an address.
boost::asio::ip::tcp::endpoint AddressAt(const std::string& ip, int port);

// Thread: any but `thread`, unless it says otherwise.
class FaultProxy {
 public:
  using Endpoint = boost::asio::ip::tcp::endpoint;

  // `thread` outlives it. Errors: kUnavailable if it cannot listen there.
  static kube::Result<std::unique_ptr<FaultProxy>> Listen(ProxyThread& thread,
                                                          const Endpoint& listen,
                                                          std::vector<Endpoint> targets);
  // Resets all connections.
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  // Where it listens; its port differs from that of Listen() if that was 0.
  Endpoint address() const;
  size_t targets() const;

  // The faults of the connections to a target, from now on.
  void Set(size_t target, LinkFaults faults);
  // Resets the connections to a target that exist.
  void Reset(size_t target);
  // No faults any more. Connections stay.
  void Heal();

  // Open connections to a target.
  size_t connections(size_t target) const;

 private:
  class Impl;

  FaultProxy(ProxyThread& thread, std::shared_ptr<Impl> impl)
      : thread_(thread), impl_(std::move(impl)) {}

  ProxyThread& thread_;
  std::shared_ptr<Impl> impl_;
};

}  // namespace e2e
