// SPDX-License-Identifier: Apache-2.0
// TermClient: the client of a term of leadership. It writes nothing once the Lease may have
// expired: the work of a leader that was paused goes on beside that of the next one, and changes
// nothing any more.
//
// A write begins before the renew deadline, by this process's monotonic clock, and its timeout ends
// when others may acquire the Lease; after a timeout, the client sends nothing (new_client.cc).
// Reads and watches go on. Not covered: a request that was sent before the pause, and a machine
// that stops with its clock.
#pragma once

#include <memory>
#include <string_view>

#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/controller/leader_election.h"

namespace kube {

// Error::reason() of a refused write. The code is kUnavailable: the same write may succeed once the
// Lease is renewed, and the API server has not seen it.
inline constexpr std::string_view kLeaseNotHeld = "LeaseNotHeld";

inline bool IsLeaseNotHeld(const Error& error) { return error.reason() == kLeaseNotHeld; }

class TermClient final : public Client {
 public:
  // Both outlive this.
  TermClient(Client& client, const LeaderElector& elector) : client_(client), elector_(elector) {}

  // Client
  Async<ApiResponse> Call(ApiRequest request) override;
  Async<std::unique_ptr<WatchStream>> Watch(ApiRequest request) override;

 private:
  Client& client_;
  const LeaderElector& elector_;
};

}  // namespace kube
