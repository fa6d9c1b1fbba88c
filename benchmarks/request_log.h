// SPDX-License-Identifier: Apache-2.0
// RequestLog: counts the requests of the operator's programs, from the audit log of the API server.
//
//   RequestLog log(cluster.control_plane().audit_log());
//   log.Skip();                             // what happened so far
//   ...
//   kube::Result<RequestCounts> counts = log.Read();   // what has happened since
#pragma once

#include <ios>
#include <map>
#include <string>

#include "kube/base/error.h"

namespace benchmarks {

struct RequestCounts {
  // By ServiceAccount, verb and resource: "multiarch-tuning-operator create deployments". The
  // requests of a shard's ServiceAccount are those of all shards.
  std::map<std::string, int> by_kind;
  int writes = 0;
  int reads = 0;
  // The writes to Leases, which are part of `writes`.
  int lease_writes = 0;
};

class RequestLog {
 public:
  explicit RequestLog(std::string path) : path_(std::move(path)) {}

  // Ignores the requests until now.
  void Skip();
  // The requests since Skip() or the last Read(), of users whose name starts with
  // "pod-placement-" or "multiarch-". kUnavailable if the log cannot be read.
  kube::Result<RequestCounts> Read();

 private:
  std::string path_;
  std::streamoff at_ = 0;
};

}  // namespace benchmarks
