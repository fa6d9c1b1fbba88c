// SPDX-License-Identifier: Apache-2.0
#include "inspection/registry/transport.h"

#include <algorithm>
#include <array>

#include "inspection/base/timing.h"

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

namespace ip = boost::asio::ip;

std::string WithoutQuery(const Url& url) {
  std::string text = url.ToString();
  return text.substr(0, text.find('?'));
}

// The names that images and configuration may have for the registry at `url`: the scheme's default
// port may be omitted.
std::array<std::string, 2> NamesOf(const Url& url) {
  std::string bare = url.host.find(':') == std::string::npos ? url.host : "[" + url.host + "]";
  return {url.Authority(), bare + ":" + url.port};
}

Error Forbidden(const Url& url, bool referred) {
  if (!referred) return Error::PermissionDenied(url.host + " is a link-local or reserved address");
  return Error::PermissionDenied(
      "the registry refers to " + url.host +
      ", a private or link-local address; registries.conf can allow it by naming that host");
}

}  // namespace

Transport::Transport(kube::Executor executor, kube::Clock& clock, TransportOptions options)
    : executor_(std::move(executor)),
      clock_(clock),
      options_(std::move(options)),
      pools_(options_.max_origins) {}

// Adds the certificates for the registry at `url`.
Result<void> Transport::AddTls(const Url& url, bool own, Target& target) const {
  kube::TlsOptions& tls = target.origin.tls;
  for (const std::string& name : NamesOf(url)) {
    auto found = options_.host_tls.find(name);
    if (found == options_.host_tls.end()) continue;
    const HostTls& host = found->second;
    if (!host.problem.empty())
      return Error::Invalid("certificates of " + name + ": " + host.problem);
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

bool Transport::IsNamed(const Url& url) const {
  for (const std::string& name : NamesOf(url)) {
    if (options_.named_hosts.contains(name) || options_.host_tls.contains(name)) return true;
  }
  return false;
}

bool Transport::MayConnect(const Url& url, const Referrer* referrer,
                           const ip::address& address) const {
  if (IsNamed(url)) return true;
  if (referrer == nullptr) return MayBeRegistry(address);
  if (ClassOf(address) == AddressClass::kPrivate && IsNamed(referrer->url)) return true;
  return MayRefer(*referrer, url, address);
}

Result<Transport::Target> Transport::TargetFor(const Url& url, bool insecure,
                                               const Referrer* referrer) const {
  Target target{Origin::Of(url), ""};
  target.origin.tls.insecure = insecure;
  target.origin.tls.ca_pem = options_.ca_pem;
  Result<void> added = AddTls(url, /*own=*/true, target);
  if (!added) return added.error();
  bool own =
      referrer == nullptr || (referrer->url.host == url.host && referrer->url.port == url.port);
  if (!own) added = AddTls(referrer->url, /*own=*/false, target);
  if (!added) return added.error();
  target.origin.tls.system_roots = !insecure;
  Result<std::optional<Url>> proxy = options_.proxy.For(url);
  if (!proxy) return proxy.error();
  target.origin.proxy = *proxy;
  // An address is checked here: it is not resolved, and a proxy would connect to it.
  boost::system::error_code not_literal;
  ip::address literal = ip::make_address(url.host, not_literal);
  if (!not_literal && !MayConnect(url, referrer, literal))
    return Forbidden(url, referrer != nullptr);
  return target;
}

Result<std::shared_ptr<HttpPool>> Transport::PoolFor(const Target& target) {
  const Origin& origin = target.origin;
  std::string key = origin.scheme + "://" + origin.host + ":" + origin.port +
                    (origin.tls.insecure ? "!" : "") + " " + target.trust;
  if (std::shared_ptr<HttpPool>* found = pools_.Find(key)) return *found;
  kube::PoolOptions options{.max_connections = options_.max_connections,
                            .idle_timeout = kIdleConnectionTimeout,
                            .connect_timeout = kConnectTimeout,
                            .names = options_.names};
  std::shared_ptr<HttpPool> pool = HttpPool::New(executor_, clock_, origin, options);
  // Closes the least recently used pool without a call in flight.
  auto idle = [](const std::shared_ptr<HttpPool>& other) { return other.use_count() == 1; };
  if (!pools_.Put(key, pool, idle))
    return Error::Unavailable("too many registries are called at the same time");
  return pool;
}

Async<HttpResponse> Transport::Call(Url url, HttpRequest request, bool insecure,
                                    std::optional<Referrer> referrer) {
  std::string what = request.method + " " + WithoutQuery(url);
  Result<Target> target = TargetFor(url, insecure, referrer ? &*referrer : nullptr);
  if (!target) co_return target.error();
  Result<std::shared_ptr<HttpPool>> pool = PoolFor(*target);
  if (!pool) co_return pool.error();

  request.target = url.target;
  request.large_bodies = options_.large_bodies;
  request.may_connect = [this, &url, &referrer](const ip::address& address) {
    return MayConnect(url, referrer ? &*referrer : nullptr, address);
  };
  // The pool may be dropped from the map during the call.
  std::shared_ptr<HttpPool> held = *pool;
  Result<HttpResponse> response = co_await held->Call(std::move(request));
  if (FailedWith(response, kube::Code::kPermissionDenied))
    response = Forbidden(url, referrer.has_value());
  if (options_.trace) {
    options_.trace(what + ": " +
                   (response ? std::to_string(response->status) : response.error().ToString()));
  }
  co_return response;
}

}  // namespace inspection
