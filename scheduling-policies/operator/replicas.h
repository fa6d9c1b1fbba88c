// SPDX-License-Identifier: Apache-2.0
// Replicas: which versions of the policies the replicas of the policy webhook have, by their Leases
// (scheduling-policies/webhook/replica.h). Read live: a replica that is not among them lists the
// policies later. Thread: the client's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "scheduling-policies/scheduling_policy.h"
#include "scheduling-policies/webhook/replica.h"

namespace operator_ {

class Replicas {
 public:
  // `client` and `clock` outlive this. `ns`: the operator's namespace.
  Replicas(kube::Client& client, kube::Clock& clock, std::string ns)
      : client_(client), clock_(clock), ns_(std::move(ns)) {}

  // Reads the Leases, and deletes those of replicas that are dead. Errors: the API server's.
  // `log`: the start of log lines, Request::log.
  kube::Async<> Read(const std::string& log);
  // Deletes all that were read, dead or not. Errors: the API server's.
  kube::Async<> DeleteAll(const std::string& log);

  // As of the last Read().
  size_t size() const { return replicas_.size(); }
  // How many have the policy of this kind that was written with this resourceVersion.
  size_t Having(policy::Scope scope, uint64_t version) const;

 private:
  struct Replica {
    policy::SeenVersions seen;
    // The resourceVersion of the Lease, and when it was first read with it.
    std::string resource_version;
    kube::TimePoint renewed;
  };

  // Deletes the Lease, unless it was written since. Returns: whether it is gone.
  kube::Async<bool> Delete(std::string name, std::string resource_version);

  kube::Client& client_;
  kube::Clock& clock_;
  std::string ns_;
  std::map<std::string, Replica> replicas_;  // by name
};

}  // namespace operator_
