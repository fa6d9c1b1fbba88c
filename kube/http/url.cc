// SPDX-License-Identifier: Apache-2.0
#include "kube/http/url.h"

#include <algorithm>
#include <charconv>

#include "kube/base/ascii.h"
#include "kube/base/percent.h"

namespace kube {
namespace {

constexpr size_t kMaxUrl = 8192;

std::string_view DefaultPort(std::string_view scheme) { return scheme == "https" ? "443" : "80"; }

bool IsHostChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

bool IsHexDigit(char c) { return (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9'); }

bool IsAddressChar(char c) { return IsHexDigit(c) || c == ':' || c == '.'; }

// No control characters, spaces or non-ASCII: they must be percent-encoded, and could end the
// request line.
bool IsTargetChar(char c) { return c > 0x20 && c < 0x7f; }

bool IsPort(std::string_view text) {
  unsigned port = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
  return ec == std::errc() && end == text.data() + text.size() && port > 0 && port <= 65535 &&
         text.front() != '0';
}

}  // namespace

Result<Url> Url::Parse(std::string_view text) {
  // Messages do not quote the URL: it may contain a password.
  if (text.size() > kMaxUrl) return Error::Invalid("URL longer than 8192 bytes");
  Url url;

  // Scheme.
  size_t colon = text.find("://");
  if (colon == std::string_view::npos) return Error::Invalid("not an absolute URL");
  url.scheme = AsciiLower(text.substr(0, colon));
  if (url.scheme != "http" && url.scheme != "https")
    return Error::Invalid("URL scheme is neither http nor https");
  text.remove_prefix(colon + 3);

  // Target.
  size_t slash = text.find_first_of("/?#");
  std::string_view target =
      slash == std::string_view::npos ? std::string_view() : text.substr(slash);
  target = target.substr(0, target.find('#'));
  url.target = target.starts_with('/') ? std::string(target) : "/" + std::string(target);
  if (!std::all_of(url.target.begin(), url.target.end(), IsTargetChar)) {
    return Error::Invalid("URL with characters that must be escaped");
  }
  std::string_view authority = text.substr(0, slash);

  // User information.
  if (size_t at = authority.rfind('@'); at != std::string_view::npos) {
    Result<std::string> userinfo = PercentDecode(authority.substr(0, at));
    if (!userinfo) return userinfo.error().Prefix("URL user information");
    url.userinfo = std::move(*userinfo);
    authority.remove_prefix(at + 1);
  }

  // Host and port.
  std::string_view port;
  if (authority.starts_with('[')) {
    size_t close = authority.find(']');
    if (close == std::string_view::npos)
      return Error::Invalid("URL host without its closing bracket");
    url.host = AsciiLower(authority.substr(1, close - 1));
    if (!std::all_of(url.host.begin(), url.host.end(), IsAddressChar) ||
        url.host.find(':') == std::string::npos) {
      return Error::Invalid("URL host is not an IPv6 address");
    }
    port = authority.substr(close + 1);
    if (!port.empty() && !port.starts_with(':'))
      return Error::Invalid("URL host with text after its bracket");
  } else {
    size_t split = authority.find(':');
    url.host = AsciiLower(authority.substr(0, split));
    if (!std::all_of(url.host.begin(), url.host.end(), IsHostChar))
      return Error::Invalid("URL host is not a valid name");
    port = split == std::string_view::npos ? std::string_view() : authority.substr(split);
  }
  if (url.host.empty()) return Error::Invalid("URL without host");
  if (url.host.size() > 253) return Error::Invalid("URL host is too long");
  if (port.size() <= 1) {
    url.port = DefaultPort(url.scheme);
  } else {
    port.remove_prefix(1);
    if (!IsPort(port)) return Error::Invalid("URL port is not within 1..65535");
    url.port = port;
  }
  return url;
}

std::string Url::Authority() const {
  std::string text = host.find(':') == std::string::npos ? host : "[" + host + "]";
  if (port != DefaultPort(scheme)) text += ":" + port;
  return text;
}

std::string Url::ToString() const { return scheme + "://" + Authority() + target; }

}  // namespace kube
