// SPDX-License-Identifier: Apache-2.0
// The proxy of a call, if any: HTTPS_PROXY, HTTP_PROXY and NO_PROXY with the semantics of Go's
// net/http, as cluster-wide proxy settings are written for Go programs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kube/base/error.h"
#include "kube/http/url.h"

namespace kube {

struct ProxySettings {
  std::string https_proxy;  // for https origins: "http://proxy:3128" or "proxy:3128"
  std::string http_proxy;   // for http origins
  // Comma-separated: "*", "example.com" (and its subdomains), ".example.com" (subdomains only),
  // "10.0.0.1", "10.0.0.0/8"; each name and address may have a ":port". Loopback addresses and
  // "localhost" never use a proxy.
  std::string no_proxy;

  // Upper-case variables take precedence over lower-case ones. `lookup` replaces std::getenv in
  // tests.
  static ProxySettings FromEnvironment();
  static ProxySettings From(const std::function<const char*(const char*)>& lookup);

  // The proxy for `origin`; nullopt: none. kInvalid if the proxy's URL is malformed or not http.
  Result<std::optional<Url>> For(const Url& origin) const;
};

}  // namespace kube
