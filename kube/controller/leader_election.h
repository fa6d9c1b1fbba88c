// SPDX-License-Identifier: Apache-2.0
// LeaderElector: of several processes with one Lease, one works at a time. As client-go does it, so
// that both can share a Lease.
//
//   LeaderElector elector(client, clock, {.ns = "ours", .name = "operator", .identity = pod_name});
//   Result<> acquired = co_await elector.Acquire();        // waits until we are the leader
//   ... start working ...
//   Result<> lost = co_await elector.Hold();               // renews; returns when that is over
//   ... stop working ...
//   Result<> released = co_await elector.Release();        // the next one starts at once
//
// Clocks of other machines don't matter: a Lease has expired when it has not changed, as seen from
// here, for its duration. Two leaders at a time can still be (a process that was paused): writes
// are guarded by resourceVersions.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/types/resource.h"

namespace kube {

// Who this process is among the candidates: $POD_NAME, where the pod's manifest gives its name so;
// a container that is started again then takes up its own Lease at once. Elsewhere the host's name
// and the process id.
std::string LeaseIdentity();

struct LeaseOptions {
  std::string ns;
  std::string name;
  // Unique among the candidates.
  std::string identity = LeaseIdentity();
  // How long the others wait after our last sign of life; whole seconds.
  std::chrono::seconds duration{15};
  // How long we go on working without having renewed; less than `duration`.
  Duration renew_deadline = std::chrono::seconds(10);
  // Between two tries, with jitter where it is not ours.
  Duration retry = std::chrono::seconds(2);
  // Whom the Lease goes with, if it is made here.
  std::optional<meta::OwnerReference> owner = std::nullopt;
  // Told when leadership comes and goes; may be empty.
  std::function<void(bool leader)> on_change;
  // Whether this process can do the work, asked before each try; an error keeps it from acquiring
  // the Lease and ends Hold(). Empty: always.
  std::function<Result<void>()> able;
};

class LeaderElector {
 public:
  // `client` and `clock` outlive the elector.
  LeaderElector(Client& client, Clock& clock, LeaseOptions options);

  // Returns when we are the leader. Trouble with the API server is logged and tried again. Errors:
  // kCancelled.
  Async<> Acquire();
  // Renews until that ends, and always returns an error: kCancelled or that of `able` (still the
  // leader: call Release), kConflict (somebody else has the Lease) or kDeadlineExceeded (not
  // renewed in time). Other writers of the Lease, and its deletion, end nothing.
  Async<> Hold();
  // Gives the Lease up if it is ours, also after a cancellation; ends within a few seconds. Errors:
  // those of the write.
  Async<> Release();

  // True while the others respect us.
  bool leader() const { return leader_ && clock_.Now() < renewed_at_ + options_.duration; }
  // Who has the Lease, as last seen; for logs.
  std::string holder() const { return seen_ ? seen_->spec().holder_identity() : ""; }

 private:
  // True if the Lease is ours now, false if somebody else has it. `deadline` bounds the calls.
  Async<bool> Try(TimePoint deadline);
  // Reads the Lease. True if somebody else has it.
  Async<bool> Look(TimePoint deadline);
  Result<void> Able() const { return options_.able ? options_.able() : Result<void>(Ok()); }
  // A call that hangs, as on a connection that broke silently, leaves time for another one.
  std::chrono::milliseconds CallTimeout(TimePoint deadline) const;
  Async<coordination::Lease> Send(Method method, coordination::Lease lease, TimePoint deadline);
  Async<coordination::Lease> Write(std::optional<coordination::Lease> current, TimePoint deadline);
  void See(const coordination::Lease& lease);
  bool HeldByAnother() const;
  void SetLeader(bool leader);

  Client& client_;
  Clock& clock_;
  LeaseOptions options_;
  bool leader_ = false;
  TimePoint renewed_at_;
  // The Lease as last seen, and when its spec was first seen so.
  std::optional<coordination::Lease> seen_;
  TimePoint seen_at_;
  std::minstd_rand random_;
};

}  // namespace kube
