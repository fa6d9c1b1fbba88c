// SPDX-License-Identifier: Apache-2.0
// Reference: an image's name in a pod, parsed and completed as container runtimes do it:
//
//   "nginx"                       docker.io / library/nginx : latest      (short_name)
//   "quay.io:443/a/b/c:v1"        quay.io:443 / a/b/c : v1
//   "[fd00::1]:5000/a@sha256:…"   [fd00::1]:5000 / a @ sha256:…
//
// Source: the grammar of github.com/distribution/reference.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace inspection {

inline constexpr std::string_view kDockerHub = "docker.io";
// The host of Docker Hub's registry.
inline constexpr std::string_view kDockerHubHost = "registry-1.docker.io";

struct Reference {
  std::string registry;    // host[:port], IPv6 in brackets; Docker Hub is always "docker.io"
  std::string repository;  // "library/nginx", never empty
  std::string tag;         // "latest" by default; may be empty if there is a digest
  std::string digest;      // "sha256:<64 hex>" or "sha512:<128 hex>", or empty
  // The text named no registry, so the rules for short names apply; `registry` and `repository`
  // have the defaults.
  bool short_name = false;

  // kInvalid, with the text (shortened) and the reason.
  static kube::Result<Reference> Parse(std::string_view text);

  // "docker.io/library/nginx"
  std::string Name() const { return registry + "/" + repository; }
  // "docker.io/library/nginx:1@sha256:…"
  std::string ToString() const;
  // The manifest's name in a request: the digest if there is one, else the tag.
  const std::string& Version() const { return digest.empty() ? tag : digest; }
};

// "sha256:<64 hex>" or "sha512:<128 hex>", in lower case.
bool IsDigest(std::string_view text);
// host[:port] with a host name, an IPv4 address or an IPv6 address in brackets.
bool IsRegistryHost(std::string_view text);
// Path components of lower-case letters and digits, separated by '.', '_', '__' or dashes.
bool IsRepository(std::string_view text);

}  // namespace inspection
