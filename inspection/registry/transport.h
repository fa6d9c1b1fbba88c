// SPDX-License-Identifier: Apache-2.0
// Transport: HTTP calls to any registry, blob store or token server, with a connection pool for
// each.
//
// AddressPolicy decides which addresses may be connected to. The administrator's configuration
// overrules it: hosts that it names may have any address, and such a registry may refer to private
// addresses. Behind a proxy, the proxy resolves names and may refuse them. Thread: one.
#pragma once

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
  // Trusted in addition to the system's certificates, PEM.
  std::string ca_pem;
  // In addition, for one registry. The same authorities are trusted for a token server or blob
  // store that it names; the client certificate is for the registry only.
  HostCertificates host_tls;
  kube::ProxySettings proxy;
  // DNS servers.
  kube::NameServers names;
  // "host" or "host:port" of the hosts that the administrator's configuration names; the ones in
  // host_tls count as well.
  std::set<std::string> named_hosts;
  // Origins with open connections; the least recently used one is closed for a new one.
  size_t max_origins = 160;
  // Calls to one origin at a time; further ones wait.
  size_t max_connections = 16;
  // A slot for each answer of more than small_body_bytes (256 KiB) in memory, of all registries;
  // null: no limit.
  std::shared_ptr<kube::Slots> large_bodies;
  // Called for every HTTP call: "GET https://r.io/v2/app/manifests/1: 200". Never with a query or a
  // header. May be empty.
  std::function<void(const std::string&)> trace;
};

class Transport {
 public:
  Transport(kube::Executor executor, kube::Clock& clock, TransportOptions options);

  // Calls url.target; `request.target` is not used. `insecure`: accepts any certificate.
  // `referrer`: the registry that named the URL; nullopt for the registry's own URL.
  // Errors: as HttpPool::Call(); kPermissionDenied if the policy forbids every address of the host;
  // kInvalid if the registry's certificates cannot be used.
  kube::Async<kube::HttpResponse> Call(kube::Url url, kube::HttpRequest request, bool insecure,
                                       std::optional<Referrer> referrer);

  void Trace(const std::string& text) const {
    if (options_.trace) options_.trace(text);
  }

 private:
  struct Target {
    kube::Origin origin;
    std::string trust;  // the names of the host_tls entries in use
  };

  kube::Result<void> AddTls(const kube::Url& url, bool own, Target& target) const;
  kube::Result<Target> TargetFor(const kube::Url& url, bool insecure,
                                 const Referrer* referrer) const;
  bool IsNamed(const kube::Url& url) const;
  bool MayConnect(const kube::Url& url, const Referrer* referrer,
                  const boost::asio::ip::address& address) const;
  kube::Result<std::shared_ptr<kube::HttpPool>> PoolFor(const Target& target);

  kube::Executor executor_;
  kube::Clock& clock_;
  TransportOptions options_;
  kube::LruMap<std::shared_ptr<kube::HttpPool>> pools_;
};

}  // namespace inspection
