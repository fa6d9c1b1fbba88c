// SPDX-License-Identifier: Apache-2.0
// HostCertificates: whom to trust at each registry, and what to show there, as certs.d folders say
// it.
//
//   /etc/containers/certs.d/registry.example:5000/ca.crt        trusted beside the system's
//   certificates
//                                                 client.cert   shown to the registry,
//                                                 client.key    with its key
//
// Source: containers-certs.d(5). Of several client certificates the first by name is taken.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kube/base/error.h"

namespace inspection {

struct HostTls {
  // PEM; empty where there is none.
  std::string ca_pem;
  std::string cert_pem;
  std::string key_pem;
  // Why this registry cannot be talked to: a certificate without its key, a file that cannot be
  // read.
  std::string problem;

  bool operator==(const HostTls&) const = default;
};

// By "host" or "host:port", as images name the registry.
using HostCertificates = std::map<std::string, HostTls>;

// One folder of a registry. What cannot be used is `problem`.
HostTls ReadHostFolder(const std::string& folder);

// All registries of several such trees, at most 4096; a registry is taken from the first tree that
// has a folder for it. A tree that is not there counts as empty. Blocks for as long as the file
// system does. Errors: kInvalid for a tree that cannot be read.
kube::Result<HostCertificates> ReadCertsDirectories(const std::vector<std::string>& trees);

}  // namespace inspection
