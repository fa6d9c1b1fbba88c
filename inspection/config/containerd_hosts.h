// SPDX-License-Identifier: Apache-2.0
// ContainerdHosts: containerd's mirrors and settings per registry, from its configuration folder:
//
//   /etc/containerd/certs.d/docker.io/hosts.toml         images of docker.io
//                           registry.example_5000_/...   registry.example:5000 (also "host:port")
//                           _default/hosts.toml          registries without a folder
//
//   Result<ContainerdHosts> hosts = ContainerdHosts::Read("/etc/containerd/certs.d");
//   hosts->Expand(source, by_digest)      // the mirrors in their order, then the server
//
// Supported: server, [host."URL"], capabilities, ca, client, skip_verify, override_path, header.
// Tags are read only from hosts that can both resolve and pull: a host that can only resolve would
// need a second host for the same answer. A folder without hosts.toml holds certificates as in
// docker's certs.d. Source: containerd's docs/hosts.md.
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
  bool server = false;   // used after the mirrors, in place of the registry itself
  bool skip_verify = false;
  bool pull = true;
  bool resolve = true;
  HostSettings host;
  std::vector<std::string> ca_files;
  // Pairs of certificate and key; the key is empty where one file contains both.
  std::vector<std::pair<std::string, std::string>> client_files;

  bool operator==(const ContainerdHost&) const = default;
};

// The hosts in a hosts.toml: the mirrors in their order, then `server`, if there is one. kInvalid
// names the line.
kube::Result<std::vector<ContainerdHost>> ParseHostsToml(std::string_view toml);

class ContainerdHosts {
 public:
  // No folder.
  ContainerdHosts() = default;
  // Reads at most 4096 folders; blocks. An invalid folder is an error for its registry only. If
  // several folders have a client certificate for one host, the first by name counts, the default
  // last. kInvalid if `tree` cannot be read; one that does not exist counts as empty.
  static kube::Result<ContainerdHosts> Read(const std::string& tree);

  // The places to read `source` from, at least one. kInvalid if the registry's folder is invalid,
  // or allows no host.
  kube::Result<std::vector<PullSource>> Expand(PullSource source, bool by_digest) const;
  // All hosts ("host" or "host:port") in the configuration, including the names of the folders.
  std::set<std::string> Hosts() const;
  // The certificates for these hosts.
  const HostCertificates& certificates() const { return certificates_; }

  // All folders, the values of headers included: equal for equal configurations. Not for a log.
  std::string ToText() const;

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
