// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/transport.h"

#include <algorithm>
#include <set>

#include "inspection/registry/address_policy.h"
#include "kube/http/resolve.h"

namespace inspection {
namespace {

using kube::Async;
using kube::Error;
using kube::HttpPool;
using kube::HttpRequest;
using kube::HttpResponse;
using kube::Origin;
using kube::Result;
using kube::Url;

using Endpoints = std::vector<boost::asio::ip::tcp::endpoint>;

std::string WithoutQuery(const Url& url) {
  std::string text = url.ToString();
  return text.substr(0, text.find('?'));
}

}  // namespace

Transport::Transport(kube::Executor executor, kube::Clock& clock, TransportOptions options)
    : executor_(std::move(executor)), clock_(clock), options_(std::move(options)) {}

// What certs.d says of the registry at `url`, by its name as images have it: the scheme's own port may be left out.
Result<void> Transport::AddTls(const Url& url, bool own, Target& target) const {
  kube::TlsOptions& tls = target.origin.tls;
  std::string bare = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  for (const std::string& name : {url.Authority(), bare + ":" + url.port}) {
    auto found = options_.host_tls.find(name);
    if (found == options_.host_tls.end()) continue;
    const HostTls& host = found->second;
    if (!host.problem.empty()) return Error::Invalid("certificates of " + name + ": " + host.problem);
    target.trust += name + " ";
    if (!host.ca_pem.empty()) tls.ca_pem += "\n" + host.ca_pem;
    if (own && !host.cert_pem.empty()) {
      tls.cert_pem = host.cert_pem;
      tls.key_pem = host.key_pem;
    }
    break;
  }
  return kube::Ok();
}

// Where to connect to for `url`: the host itself, or the address of it that the policy allows.
Async<Transport::Target> Transport::Aim(Url url, bool insecure, const Url* sent_by, kube::TimePoint deadline) {
  Target target{Origin::Of(url), url.Authority()};
  target.origin.tls.insecure = insecure;
  target.origin.tls.ca_pem = options_.ca_pem;
  Result<void> added = AddTls(url, /*own=*/true, target);
  if (!added) co_return added.error();
  bool own = sent_by == nullptr || (sent_by->host == url.host && sent_by->port == url.port);
  if (!own) added = AddTls(*sent_by, /*own=*/false, target);
  if (!added) co_return added.error();
  target.origin.tls.system_roots = !insecure;
  Result<std::optional<Url>> proxy = options_.proxy.For(url);
  if (!proxy) co_return proxy.error();
  target.origin.proxy = *proxy;

  if (own) co_return target;
  boost::system::error_code not_literal;
  boost::asio::ip::make_address(url.host, not_literal);
  // Behind a proxy, names are the proxy's to resolve.
  if (target.origin.proxy && not_literal) co_return target;

  Result<Endpoints> endpoints = co_await kube::Resolve(url.host, url.port, clock_, deadline);
  if (!endpoints) co_return endpoints.error();
  std::set<AddressClass> registry;
  for (const auto& endpoint : *endpoints) {
    AddressClass wanted = ClassOf(endpoint.address());
    if (wanted != AddressClass::kPublic && registry.empty()) {
      Result<Endpoints> homes = co_await kube::Resolve(sent_by->host, sent_by->port, clock_, deadline);
      if (!homes) co_return homes.error();
      for (const auto& home : *homes) registry.insert(ClassOf(home.address()));
    }
    if (!MaySendTo(wanted, registry)) continue;
    target.origin.host = endpoint.address().to_string();
    target.origin.tls.server_name = url.host;
    co_return target;
  }
  co_return Error::PermissionDenied("the registry sends us to " + url.host + ", a private or link-local address");
}

Result<std::shared_ptr<HttpPool>> Transport::PoolFor(const Target& target) {
  const Origin& origin = target.origin;
  std::string key = origin.scheme + "://" + origin.host + ":" + origin.port + (origin.tls.insecure ? "!" : "") + " " +
                    origin.tls.server_name + " " + target.trust;
  auto found = pools_.find(key);
  if (found != pools_.end()) {
    ages_.splice(ages_.end(), ages_, found->second.age);
    return found->second.pool;
  }
  // Make room: the pool that nobody uses for longest.
  if (pools_.size() >= options_.max_origins) {
    auto unused = std::find_if(ages_.begin(), ages_.end(),
                               [&](const std::string& age) { return pools_.at(age).pool.use_count() == 1; });
    if (unused == ages_.end()) return Error::Unavailable("too many registries are asked at the same time");
    pools_.erase(*unused);
    ages_.erase(unused);
  }
  kube::PoolOptions options{.max_connections = options_.max_connections,
                            .idle_timeout = std::chrono::milliseconds(30'000),
                            .connect_timeout = std::chrono::milliseconds(5'000)};
  std::shared_ptr<HttpPool> pool = HttpPool::New(executor_, clock_, origin, options);
  ages_.push_back(key);
  pools_.emplace(key, Slot{pool, std::prev(ages_.end())});
  return pool;
}

Async<HttpResponse> Transport::Call(Url url, HttpRequest request, bool insecure, const Url* sent_by) {
  kube::TimePoint deadline = clock_.Now() + request.timeout;
  std::string what = request.method + " " + WithoutQuery(url);
  Result<Target> target = co_await Aim(url, insecure, sent_by, deadline);
  if (!target) co_return target.error();
  Result<std::shared_ptr<HttpPool>> pool = PoolFor(*target);
  if (!pool) co_return pool.error();

  request.target = url.target;
  request.large_bodies = options_.large_bodies;
  if (target->origin.host != url.host) request.headers.emplace_back("Host", target->host_header);
  ++calls_;
  // The pool is held here: it outlives its place in the map.
  std::shared_ptr<HttpPool> held = *pool;
  Result<HttpResponse> response = co_await held->Call(std::move(request));
  if (options_.trace) {
    options_.trace(what + ": " + (response ? std::to_string(response->status) : response.error().ToString()));
  }
  co_return response;
}

}  // namespace inspection
