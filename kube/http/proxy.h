// SPDX-License-Identifier: Apache-2.0
// Which proxy, if any, a call goes through: HTTPS_PROXY, HTTP_PROXY and NO_PROXY, read as Go's
// net/http reads them, so that a cluster's proxy settings mean the same to us.
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
  // Comma-separated: "*", "example.com" (and below), ".example.com" (below only), "10.0.0.1",
  // "10.0.0.0/8"; each of the names and addresses may have a ":port". Loopback addresses and
  // "localhost" never go through a proxy.
  std::string no_proxy;

  // Upper case wins over lower case. `lookup` is std::getenv but for tests.
  static ProxySettings FromEnvironment();
  static ProxySettings From(const std::function<const char*(const char*)>& lookup);

  // The proxy for `origin`, nullopt for none. kInvalid if the proxy's own URL is wrong or not http.
  Result<std::optional<Url>> For(const Url& origin) const;
};

}  // namespace kube
