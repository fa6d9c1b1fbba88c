// SPDX-License-Identifier: Apache-2.0
// The flags of the program `shard`.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "kube/controller/leader_election.h"

namespace shard {

struct Options {
  // The namespace to serve.
  std::string ns;
  // Whether a replica takes pods at once only while holding the Lease.
  bool leader_elect = true;
  // Without `busy` and `able`.
  kube::LeaseOptions lease;
};

// --namespace, --lease-owner and --leader-elect. Errors: kInvalid.
kube::Result<Options> OptionsFromFlags();

}  // namespace shard
