// SPDX-License-Identifier: Apache-2.0
// What a run asks the members of etcd, over their HTTP gateway.
#pragma once

#include <cstdint>
#include <string>

#include "kube/base/async.h"

namespace e2e {

struct EtcdStatus {
  bool leads = false;
  // Of the key-value store.
  int64_t revision = 0;
};

// Of the member at `host`. Errors: kUnavailable without an answer within two seconds, or from a
// member that knows no leader.
kube::Async<EtcdStatus> StatusOfEtcd(std::string host);

// Compacts the store up to `revision`: who is behind it has to list again. Errors: kUnavailable,
// also when it was compacted before.
kube::Async<> CompactEtcd(std::string host, int64_t revision);

// The status of a member, and the answer's JSON object.
kube::Result<EtcdStatus> ParseEtcdStatus(const std::string& answer);

}  // namespace e2e
