// SPDX-License-Identifier: Apache-2.0
// Url: an absolute http or https URL, taken apart. Input may be hostile: whatever could smuggle
// something into a request line or a Host header is refused.
//
//   Result<Url> url = Url::Parse("https://[::1]:6443/api?x=y");   // host "::1", port "6443",
//   target "/api?x=y"
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

struct Url {
  std::string scheme;    // "http" or "https"
  std::string host;      // lower case; IPv6 without brackets
  std::string port;      // decimal; the scheme's own where the URL names none
  std::string target;    // path and query as given, at least "/"; a fragment is dropped
  std::string userinfo;  // "user:password", percent-decoded; empty where absent

  // kInvalid for relative URLs, other schemes, bad ports, and characters that no URL may hold.
  static Result<Url> Parse(std::string_view text);

  // "host", "host:8443", "[::1]:8443": what a Host header says; the scheme's own port is left out.
  std::string Authority() const;
  // "https://host:8443/target", without userinfo: safe to log.
  std::string ToString() const;
};

}  // namespace kube
