// SPDX-License-Identifier: Apache-2.0
// HostCertificates: trusted authorities and client certificates per registry, from certs.d folders.
//
//   /etc/containers/certs.d/registry.example:5000/ca.crt        trusted, as the system's are
//                                                 client.cert   presented to the registry
//                                                 client.key    the key of client.cert
//
// Source: containers-certs.d(5). If there are several client certificates, the first by name is
// used.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/base/error.h"

namespace inspection {

struct HostTls {
  // PEM; empty for none.
  std::string ca_pem;
  std::string cert_pem;
  std::string key_pem;
  // Why this registry cannot be used: a certificate without its key, a file that cannot be read.
  // Empty for none.
  std::string problem;

  bool operator==(const HostTls&) const = default;
};

// By "host" or "host:port", as in the names of images.
using HostCertificates = std::map<std::string, HostTls>;

// Reads the folder of one registry. Its errors are in `problem`.
HostTls ReadHostFolder(const std::string& folder);

// Reads the folders of all registries in several trees, at most 4096; blocks. With several folders
// for one registry, the one in the first tree counts. A tree that does not exist counts as empty.
// Errors: kInvalid for a tree that cannot be read.
kube::Result<HostCertificates> ReadCertsDirectories(const std::vector<std::string>& trees);

}  // namespace inspection
