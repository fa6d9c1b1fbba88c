// SPDX-License-Identifier: Apache-2.0
// RequestLog: the requests of the operator's programs, from the audit log of the API server. Needs
// ControlPlaneOptions::audit.
//
//   RequestLog log(cluster.control_plane().audit_log());
//   log.Skip();                 // what has happened so far
//   ...
//   auto requests = log.Read(); // what has happened since
#pragma once

#include <ios>
#include <string>
#include <vector>

#include "kube/base/error.h"

namespace e2e {

struct LoggedRequest {
  // The name of the ServiceAccount.
  std::string account;
  std::string verb;
  // "deployments", "podplacementconfigs/status".
  std::string resource;
  std::string ns;
  std::string name;
  // Nothing was stored.
  bool dry_run = false;

  bool IsWrite() const { return !dry_run && verb != "get" && verb != "list" && verb != "watch"; }
  // "multiarch-tuning-operator patch deployments"
  std::string Kind() const { return account + " " + verb + " " + resource; }
};

class RequestLog {
 public:
  explicit RequestLog(std::string path) : path_(std::move(path)) {}

  // Ignores the requests until now.
  void Skip();
  // The requests since Skip() or the last Read(), of ServiceAccounts whose name starts with
  // "pod-placement-" or "multiarch-". kUnavailable if the log cannot be read.
  kube::Result<std::vector<LoggedRequest>> Read();

 private:
  std::string path_;
  std::streamoff at_ = 0;
};

}  // namespace e2e
