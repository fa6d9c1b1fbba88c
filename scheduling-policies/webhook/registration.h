// SPDX-License-Identifier: Apache-2.0
// Registration: keeps the Lease of this replica (replica.h), by which the operator knows that the
// replica exists and which policies it applies.
//
//   Registration registration(client, clock, {.ns = operator_namespace, .name = pod_name,
//                                             .seen = [&] { return watch.Seen(); },
//                                             .registered = [&] { watch.List(); }});
//   tasks.Spawn("registration", registration.Run());
//   registration.Acknowledge();          // seen() has risen
//   if (registration.in_force()) ...     // the operator waits for this replica
//   co_await registration.End();         // after Run() has ended
//
// Thread: the client's.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "kube/base/alarm.h"
#include "kube/base/async.h"
#include "kube/base/backoff.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"
#include "scheduling-policies/webhook/replica.h"

namespace policy {

// The shortest time between two writes.
inline constexpr std::chrono::milliseconds kReplicaWritesEvery{100};

struct RegistrationOptions {
  std::string ns;
  // The name of the Lease and of the pod.
  std::string name;
  std::function<SeenVersions()> seen;
  // Called when the Lease is new to this process. The operator may have called policies Ready
  // without this replica until then, so what is listed before does not count.
  std::function<void()> registered;
};

class Registration {
 public:
  // `client` and `clock` outlive the registration.
  Registration(kube::Client& client, kube::Clock& clock, RegistrationOptions options);

  // Creates the Lease, renews it and creates it again if it was deleted, until cancelled.
  kube::asio::awaitable<void> Run();
  // Renews the Lease soon. Calls within kReplicaWritesEvery share a write.
  void Acknowledge();
  // True if the Lease was renewed within kReplicaAnswersFor.
  bool in_force() const;
  // Deletes the Lease, so that the operator does not wait for this replica. Takes a few seconds at
  // most.
  kube::Async<> End();

 private:
  // Writes the Lease and returns its uid.
  kube::Async<std::string> Write();
  kube::Async<std::string> Send(kube::Method method, kube::Json lease);

  kube::Client& client_;
  kube::Clock& clock_;
  RegistrationOptions options_;
  std::string uid_;
  // When the last successful write was sent.
  std::optional<kube::TimePoint> renewed_at_;
  kube::TimePoint sent_at_;
  // The time of the next write. Acknowledge() brings it forward, unless the last write failed.
  kube::TimePoint due_;
  bool acknowledge_ = false;
  kube::Backoff backoff_;
  kube::Notifier wake_;
  kube::Alarm alarm_;
};

}  // namespace policy
