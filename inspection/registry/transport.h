// SPDX-License-Identifier: Apache-2.0
// Transport: HTTP calls to any registry, blob store or token server, over one pool for each.
//
// What the caller was sent to by a registry (a redirect, a token realm) goes through AddressPolicy: its name is
// resolved here, and the connection goes to the very address that was allowed. Thread: one.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "inspection/config/host_certificates.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/slots.h"
#include "kube/http/pool.h"
#include "kube/http/proxy.h"
#include "kube/http/url.h"

namespace inspection {

struct TransportOptions {
  // Trusted beside the system's certificates, PEM.
  std::string ca_pem;
  // Beside that, for one registry. A token server or blob store that it names is trusted by the same authorities; the
  // client certificate is for the registry alone.
  HostCertificates host_tls;
  kube::ProxySettings proxy;
  // Origins with open connections; the one unused for longest makes room.
  size_t max_origins = 160;
  // Calls to one origin at a time; further ones wait.
  size_t max_connections = 16;
  // Answers of more than small_body_bytes (256 KiB) in memory at a time, of all registries; null: any number.
  std::shared_ptr<kube::Slots> large_bodies;
  // Told of every call: "GET https://r.io/v2/app/manifests/1: 200". Never holds a query or a header. May be empty.
  std::function<void(const std::string&)> trace;
};

class Transport {
 public:
  Transport(kube::Executor executor, kube::Clock& clock, TransportOptions options);

  // Calls url.target; `request.target` is not used. `insecure`: any certificate will do.
  // `sent_by`: the registry that named this URL, where it is not the registry itself.
  // Errors: as HttpPool::Call(); kPermissionDenied if the policy forbids every address of the host; kInvalid if the
  // registry's certificates cannot be used.
  kube::Async<kube::HttpResponse> Call(kube::Url url, kube::HttpRequest request, bool insecure,
                                       const kube::Url* sent_by);

  // Calls so far, of every kind.
  uint64_t calls() const { return calls_; }
  void Trace(const std::string& text) const {
    if (options_.trace) options_.trace(text);
  }

 private:
  struct Target {
    kube::Origin origin;
    std::string host_header;
    std::string trust;  // whose certificates count
  };
  struct Slot {
    std::shared_ptr<kube::HttpPool> pool;
    std::list<std::string>::iterator age;
  };

  kube::Result<void> AddTls(const kube::Url& url, bool own, Target& target) const;
  kube::Async<Target> Aim(kube::Url url, bool insecure, const kube::Url* sent_by, kube::TimePoint deadline);
  kube::Result<std::shared_ptr<kube::HttpPool>> PoolFor(const Target& target);

  kube::Executor executor_;
  kube::Clock& clock_;
  TransportOptions options_;
  std::map<std::string, Slot> pools_;
  std::list<std::string> ages_;  // longest unused first
  uint64_t calls_ = 0;
};

}  // namespace inspection
