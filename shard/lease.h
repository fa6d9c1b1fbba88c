// SPDX-License-Identifier: Apache-2.0
// The Lease of a shard.
#pragma once

#include <string>

#include "kube/controller/leader_election.h"

namespace shard {

// The Lease for the shard of namespace `ns`, without `busy` and `able`.
kube::LeaseOptions LeaseOf(const std::string& ns);

}  // namespace shard
