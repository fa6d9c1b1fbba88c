// SPDX-License-Identifier: Apache-2.0
// ContainerdHosts: where containerd's nodes pull from, as their folder of registries says it:
//
//   /etc/containerd/certs.d/docker.io/hosts.toml            images of docker.io
//                           registry.example_5000_/...      port 5000 of registry.example (also as
//                           "host:port") _default/hosts.toml             every registry without a
//                           folder
//
//   Result<ContainerdHosts> hosts = ContainerdHosts::Read("/etc/containerd/certs.d");
//   hosts->Expand(source, by_digest)      // its mirrors in their order, then its server
//
// Known: server, [host."URL"], capabilities, ca, client, skip_verify, override_path, header. A tag
// is asked for at hosts that can both resolve and pull: one that can only resolve would need a
// second host for the same answer. A folder without hosts.toml holds certificates as in docker's
// certs.d. Source: containerd's docs/hosts.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "inspection/config/host_certificates.h"
#include "inspection/config/pull_source.h"
#include "kube/base/error.h"

namespace inspection {

// One host of a hosts.toml, its server included.
struct ContainerdHost {
  std::string registry;  // host[:port]
  bool server = false;   // what comes after the mirrors, in place of the registry itself
  bool skip_verify = false;
  bool pull = true;
  bool resolve = true;
  HostPeculiarities host;
  std::vector<std::string> ca_files;
  // Pairs of certificate and key; the key is empty where one file has both.
  std::vector<std::pair<std::string, std::string>> client_files;

  bool operator==(const ContainerdHost&) const = default;
};

// The hosts that a hosts.toml names, mirrors in their order; `server` last, where it is named.
// kInvalid with the line.
kube::Result<std::vector<ContainerdHost>> ParseHostsToml(std::string_view toml);

class ContainerdHosts {
 public:
  // No folder at all.
  ContainerdHosts() = default;
  // At most 4096 folders. A folder that cannot be used is an error of its registry only. Blocks for
  // as long as the file system does. kInvalid if `tree` cannot be read; one that is not there is
  // empty.
  static kube::Result<ContainerdHosts> Read(const std::string& tree);

  // The places that `source` stands for, at least one. kInvalid if the registry's folder cannot be
  // used, or forbids all.
  kube::Result<std::vector<PullSource>> Expand(PullSource source, bool by_digest) const;
  // All hosts ("host" or "host:port") that are named here, those of the folders included.
  std::set<std::string> Hosts() const;
  // Certificates for the hosts that are named here.
  const HostCertificates& certificates() const { return certificates_; }

  bool operator==(const ContainerdHosts&) const = default;

 private:
  struct Folder {
    std::vector<ContainerdHost> hosts;
    std::string problem;
    bool operator==(const Folder&) const = default;
  };

  Folder ReadFolder(const std::string& path, const std::string& ns);

  std::map<std::string, Folder> folders_;  // by registry; "" for the default
  HostCertificates certificates_;
};

}  // namespace inspection
