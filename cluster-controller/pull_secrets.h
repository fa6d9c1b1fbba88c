// SPDX-License-Identifier: Apache-2.0
// PullSecrets: the registry credentials of a pod.
//
// The pod's own Secrets are read for each call and not cached: a Secret that was deleted or changed
// before the call is not used. Concurrent calls share a read (kube/base/shared_call.h), so that the
// pods of a Deployment cost few reads. The global Secret is watched; while the watch has not
// synced, or is not allowed, that Secret is read like the others. Nothing is shared between
// namespaces. No read starts that all callers have given up. Thread: the client's.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "inspection/config/credentials.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/notifier.h"
#include "kube/base/shared_call.h"
#include "kube/base/slots.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/core.pb.h"
#include "kube/types/resource.h"

namespace cluster_controller {

// Of one read, retries included.
inline constexpr std::chrono::milliseconds kSecretReadTimeout{30'000};

class PullSecrets {
 public:
  // Both outlive it, and it outlives Run().
  PullSecrets(kube::Client& client, kube::Clock& clock,
              std::chrono::milliseconds read_timeout = kSecretReadTimeout)
      : client_(client), clock_(clock), read_timeout_(read_timeout) {}

  // The Secret for all pods, used after the pod's own; an empty name for none.
  void SetGlobal(kube::ObjectKey secret);
  // Watches the global Secret until cancelled.
  kube::asio::awaitable<void> Run();

  // The credentials of these Secrets of `ns` in their order, then the global ones. As in the
  // kubelet, a Secret that is missing or is no pull secret is skipped; one that is too large is
  // named in the keyring's problem(). Errors: the API server's, except kNotFound;
  // kDeadlineExceeded: no read starts for this call after `deadline`.
  kube::Async<inspection::SharedKeyring> For(std::string ns, std::vector<std::string> names,
                                             kube::TimePoint deadline = kube::TimePoint::max());

 private:
  using Informer = kube::Informer<kube::core::Secret>;
  using Call = kube::SharedCall<inspection::SharedKeyring>;
  struct Reading {
    Call call;
    // Of all callers so far, the last one.
    kube::TimePoint deadline = kube::TimePoint::min();
  };

  kube::asio::awaitable<void> Watch(std::shared_ptr<Informer> informer);
  kube::Async<inspection::SharedKeyring> Read(kube::ObjectKey key, kube::TimePoint deadline);
  kube::Async<inspection::SharedKeyring> ReadNow(kube::ObjectKey key);
  kube::Async<inspection::SharedKeyring> Global(kube::TimePoint deadline);

  kube::Client& client_;
  kube::Clock& clock_;
  std::chrono::milliseconds read_timeout_;
  kube::ObjectKey global_;
  uint64_t changes_of_global_ = 0;
  kube::Notifier global_changed_;
  // The watch of `global_`, or nullptr, and the keyring from it.
  std::shared_ptr<Informer> watch_;
  inspection::SharedKeyring watched_;
  std::unordered_map<kube::ObjectKey, Reading> calls_;  // in flight
  std::shared_ptr<kube::Slots> reads_;
};

}  // namespace cluster_controller
