// SPDX-License-Identifier: Apache-2.0
// Url: a parsed absolute http or https URL. Input may be hostile: URLs that could inject text into
// a request line or a Host header are refused.
//
//   Result<Url> url = Url::Parse("https://[::1]:6443/api?x=y");
//   // host "::1", port "6443", target "/api?x=y"
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace kube {

struct Url {
  std::string scheme;    // "http" or "https"
  std::string host;      // lower case; IPv6 without brackets
  std::string port;      // decimal; the scheme's default if the URL has none
  std::string target;    // path and query as given, at least "/"; without the fragment
  std::string userinfo;  // "user:password", percent-decoded; may be empty

  // kInvalid for relative URLs, other schemes, bad ports and characters that must be escaped.
  static Result<Url> Parse(std::string_view text);

  // The Host header: "host", "host:8443", "[::1]:8443"; without the scheme's default port.
  std::string Authority() const;
  // "https://host:8443/target", without userinfo: safe to log.
  std::string ToString() const;
};

}  // namespace kube
