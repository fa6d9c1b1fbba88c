// SPDX-License-Identifier: Apache-2.0
#include "kube/http/proxy.h"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <cstdlib>

#include "kube/base/ascii.h"

namespace kube {
namespace {

namespace ip = boost::asio::ip;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<ip::address> ParseAddress(std::string_view text) {
  boost::system::error_code ec;
  ip::address address = ip::make_address(std::string(text), ec);
  if (ec) return std::nullopt;
  return address;
}

bool NetworkHolds(std::string_view network, const ip::address& address) {
  boost::system::error_code ec;
  if (address.is_v4()) {
    ip::network_v4 v4 = ip::make_network_v4(std::string(network), ec);
    return !ec && (v4.network() == ip::network_v4(address.to_v4(), v4.prefix_length()).network());
  }
  ip::network_v6 v6 = ip::make_network_v6(std::string(network), ec);
  return !ec && (v6.network() == ip::network_v6(address.to_v6(), v6.prefix_length()).network());
}

// Splits a trailing ":port" off; an IPv6 address needs brackets to have one.
std::string_view SplitPort(std::string_view& entry) {
  std::string_view port;
  if (entry.starts_with('[')) {
    size_t close = entry.find(']');
    if (close == std::string_view::npos) return port;
    if (close + 1 < entry.size() && entry[close + 1] == ':') port = entry.substr(close + 2);
    entry = entry.substr(1, close - 1);
  } else if (size_t colon = entry.find(':');
             colon != std::string_view::npos && colon == entry.rfind(':')) {
    port = entry.substr(colon + 1);
    entry = entry.substr(0, colon);
  }
  return port;
}

bool Excludes(std::string_view entry, const Url& origin,
              const std::optional<ip::address>& address) {
  if (entry.empty()) return false;
  if (entry == "*") return true;
  if (entry.find('/') != std::string_view::npos) return address && NetworkHolds(entry, *address);
  std::string_view port = SplitPort(entry);
  if (!port.empty() && port != origin.port) return false;
  if (address) {
    std::optional<ip::address> named = ParseAddress(entry);
    return named && *named == *address;
  }
  if (entry.starts_with("*.")) entry.remove_prefix(1);
  std::string name = AsciiLower(entry);
  if (name.starts_with('.')) return origin.host.ends_with(name);
  return origin.host == name || origin.host.ends_with("." + name);
}

}  // namespace

ProxySettings ProxySettings::FromEnvironment() {
  return From([](const char* name) -> const char* { return std::getenv(name); });
}

ProxySettings ProxySettings::From(const std::function<const char*(const char*)>& lookup) {
  auto read = [&](const char* upper, const char* lower) -> std::string {
    for (const char* name : {upper, lower}) {
      if (const char* value = lookup(name); value != nullptr && *value != '\0') return value;
    }
    return {};
  };
  return {read("HTTPS_PROXY", "https_proxy"), read("HTTP_PROXY", "http_proxy"),
          read("NO_PROXY", "no_proxy")};
}

Result<std::optional<Url>> ProxySettings::For(const Url& origin) const {
  std::string text = origin.scheme == "https" ? https_proxy : http_proxy;
  if (text.empty()) return std::optional<Url>();

  // NO_PROXY.
  std::optional<ip::address> address = ParseAddress(origin.host);
  if (origin.host == "localhost" || (address && address->is_loopback()))
    return std::optional<Url>();
  for (std::string_view rest = no_proxy; !rest.empty();) {
    size_t comma = rest.find(',');
    if (Excludes(Trim(rest.substr(0, comma)), origin, address)) return std::optional<Url>();
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }

  if (text.find("://") == std::string::npos) text = "http://" + text;
  Result<Url> proxy = Url::Parse(text);
  if (!proxy) return proxy.error().Prefix("proxy");
  if (proxy->scheme != "http") return Error::Invalid("proxy: only http proxies are supported");
  return std::optional<Url>(std::move(*proxy));
}

}  // namespace kube
