// SPDX-License-Identifier: Apache-2.0
// LeaderElector: of several processes with one Lease, one is the leader. Compatible with
// client-go's leader election.
//
//   LeaderElector elector(client, clock, {.ns = "system", .name = "operator"});
//   Result<> acquired = co_await elector.Acquire();      // waits until this process is the leader
//   ... start working ...
//   Result<> lost = co_await elector.Hold();             // renews; returns when the lease is lost
//   ... stop working ...
//   Result<> released = co_await elector.Release();      // another candidate can lead at once
//
// Clock skew does not matter: a Lease has expired when this process has seen no change of it for
// its duration. Two leaders at a time are still possible (a process that was suspended): the client
// of a term (term_client.h) refuses to write then, and what was sent before has to be guarded by a
// resourceVersion.
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

// The identity of this process: $POD_NAME if the pod's manifest sets it (a restarted container then
// reacquires its own Lease at once), otherwise host name and process id.
std::string LeaseIdentity();

struct LeaseOptions {
  std::string ns;
  std::string name;
  // Unique among the candidates.
  std::string identity = LeaseIdentity();
  // How long other candidates wait after the last renewal; whole seconds.
  std::chrono::seconds duration{15};
  // How long the leader continues without a renewal; less than `duration`.
  Duration renew_deadline = std::chrono::seconds(10);
  // How long after a renewal the leader renews again; less than `renew_deadline`.
  Duration renew_every = std::chrono::seconds(2);
  // Between two attempts; with jitter while another process is the leader.
  Duration retry = std::chrono::seconds(2);
  // While it returns true, the leader renews every `retry`: for Leases that show whether the leader
  // works. Empty: never.
  std::function<bool()> busy = nullptr;
  // Owner of a Lease created by this process: garbage collection deletes the Lease with it.
  std::optional<meta::OwnerReference> owner = std::nullopt;
  // Called when leadership starts and ends; may be empty.
  std::function<void(bool leader)> on_change;
  // Returns whether this process can do the work; called every `retry`. An error prevents acquiring
  // the Lease and ends Hold(). Empty: always able.
  std::function<Result<void>()> able;
};

class LeaderElector {
 public:
  // `client` and `clock` outlive the elector.
  LeaderElector(Client& client, Clock& clock, LeaseOptions options);

  // Returns when this process is the leader. Errors of the API server are logged and retried.
  // Errors: kCancelled.
  Async<> Acquire();
  // Renews until leadership ends, and always returns an error: kCancelled or the error of `able`
  // (still the leader: call Release), kConflict (another process holds the Lease) or
  // kDeadlineExceeded (not renewed in time). Other writes to the Lease, and its deletion, do not
  // end leadership.
  Async<> Hold();
  // Releases the Lease if this process holds it, also after a cancellation; takes a few seconds at
  // most. Errors: those of the write.
  Async<> Release();

  // True while other candidates respect the Lease of this process.
  bool leader() const { return leader_ && clock_.Now() < renewed_at_ + options_.duration; }
  // True until the renew deadline: what only the leader may write takes effect before another
  // candidate leads.
  bool MayWrite() const { return leader_ && clock_.Now() < renewed_at_ + options_.renew_deadline; }
  // How long other candidates will respect the last renewal; negative if they do not.
  Duration HeldFor() const { return renewed_at_ + options_.duration - clock_.Now(); }
  // "system/operator"
  std::string lease() const { return options_.ns + "/" + options_.name; }
  // The holder of the Lease, as last observed; for logs.
  std::string holder() const { return observed_ ? observed_->spec().holder_identity() : ""; }

 private:
  // True if this process holds the Lease now, false if another one does. `deadline` bounds the
  // calls.
  Async<bool> TryAcquireOrRenew(TimePoint deadline);
  // Reads the Lease. True if another process holds it.
  Async<bool> ReadHeldByAnother(TimePoint deadline);
  Result<void> Able() const { return options_.able ? options_.able() : Result<void>(Ok()); }
  bool Busy() const { return options_.busy && options_.busy(); }
  // Leaves time for a second attempt after a call that hangs, as on a silently broken connection.
  std::chrono::milliseconds CallTimeout(TimePoint deadline) const;
  Async<coordination::Lease> Send(Method method, coordination::Lease lease, TimePoint deadline);
  Async<coordination::Lease> Write(std::optional<coordination::Lease> current, TimePoint deadline);
  void Observe(const coordination::Lease& lease);
  bool HeldByAnother() const;
  void SetLeader(bool leader);

  Client& client_;
  Clock& clock_;
  LeaseOptions options_;
  bool leader_ = false;
  TimePoint renewed_at_;
  // The Lease as last observed, and when its spec was first observed so.
  std::optional<coordination::Lease> observed_;
  TimePoint observed_at_;
  std::minstd_rand random_;
};

}  // namespace kube
