// SPDX-License-Identifier: Apache-2.0
// Transport: HTTP calls to any registry, blob store or token server, over one pool for each.
//
// Connections go to addresses that AddressPolicy allows. The administrator's configuration
// overrules it: hosts that it names may be asked wherever they are, and such a registry may send us
// to private addresses. Behind a proxy names are the proxy's to resolve, and to refuse. Thread:
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "inspection/config/host_certificates.h"
#include "inspection/registry/address_policy.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/lru_map.h"
#include "kube/base/slots.h"
#include "kube/http/pool.h"
#include "kube/http/proxy.h"
#include "kube/http/resolve.h"
#include "kube/http/url.h"

namespace inspection {

struct TransportOptions {
  // Trusted beside the system's certificates, PEM.
  std::string ca_pem;
  // Beside that, for one registry. A token server or blob store that it names is trusted by the
  // same authorities; the client certificate is for the registry alone.
  HostCertificates host_tls;
  kube::ProxySettings proxy;
  // Where names are asked for.
  kube::NameServers names;
  // "host" or "host:port" of what the administrator's configuration names, beside those in
  // host_tls.
  std::set<std::string> named_hosts;
  // Origins with open connections; the one unused for longest makes room.
  size_t max_origins = 160;
  // Calls to one origin at a time; further ones wait.
  size_t max_connections = 16;
  // Answers of more than small_body_bytes (256 KiB) in memory at a time, of all registries; null:
  // any number.
  std::shared_ptr<kube::Slots> large_bodies;
  // Told of every call: "GET https://r.io/v2/app/manifests/1: 200". Never holds a query or a
  // header. May be empty.
  std::function<void(const std::string&)> trace;
};

class Transport {
 public:
  Transport(kube::Executor executor, kube::Clock& clock, TransportOptions options);

  // Calls url.target; `request.target` is not used. `insecure`: any certificate will do.
  // `sent_by`: who named this URL, where it is not the registry's own.
  // Errors: as HttpPool::Call(); kPermissionDenied if the policy forbids every address of the host;
  // kInvalid if the registry's certificates cannot be used.
  kube::Async<kube::HttpResponse> Call(kube::Url url, kube::HttpRequest request, bool insecure,
                                       std::optional<Sender> sent_by);

  // Calls so far, of every kind.
  uint64_t calls() const { return calls_; }
  void Trace(const std::string& text) const {
    if (options_.trace) options_.trace(text);
  }

 private:
  struct Target {
    kube::Origin origin;
    std::string trust;  // whose certificates count
  };

  kube::Result<void> AddTls(const kube::Url& url, bool own, Target& target) const;
  kube::Result<Target> Aim(const kube::Url& url, bool insecure, const Sender* sent_by) const;
  bool IsNamed(const kube::Url& url) const;
  bool MayConnect(const kube::Url& url, const Sender* sent_by,
                  const boost::asio::ip::address& address) const;
  kube::Result<std::shared_ptr<kube::HttpPool>> PoolFor(const Target& target);

  kube::Executor executor_;
  kube::Clock& clock_;
  TransportOptions options_;
  kube::LruMap<std::shared_ptr<kube::HttpPool>> pools_;
  uint64_t calls_ = 0;
};

}  // namespace inspection
