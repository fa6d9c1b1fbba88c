// SPDX-License-Identifier: Apache-2.0
// OwnNamespaceTeardown: ungates all pods when the operator's own namespace is deleted, and all
// programs that remove gates with it (I7).
//
//   OwnNamespaceTeardown teardown(client, clock, ns);
//   teardown.OnDue([&] { ... });  // stop leading: no object may be created any more
//   tasks.Spawn("own-namespace", teardown.Watch());
//   ...
//   // SIGTERM
//   co_await teardown.Ask();
//   if (teardown.due()) co_await teardown.Run(/*last=*/true);
//
// The content of a namespace is deleted in no order, some seconds after the namespace was marked
// for deletion. All permissions, tokens and controllers exist until then. In that time the webhook
// configurations and the policies that gate pods are deleted, the controllers get a moment to drain
// their pods, the remaining pods are ungated as they are, and the ClusterPodPlacementConfig loses
// the finalizers that the operator can no longer handle. All other objects of the operator are
// owned by the Namespace and deleted with it (objects/metadata.h). Every replica does this; steps
// that another replica has done are skipped. A refused write blocks no other step, and a client
// that keeps creating gated pods delays the end by a bounded time. Thread: the client's.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"
#include "operator/teardown/late_pods.h"

namespace operator_ {

struct OwnNamespaceTeardownTiming {
  // How long the controllers may take to drain their pods.
  std::chrono::milliseconds drain{2'000};
  // How long after gating has stopped pods may be stored with a gate: a list of pods that began
  // earlier proves nothing. The process has nothing else to do, and may be ended at any time.
  std::chrono::milliseconds stored_late{kStoredLate};
  // The longest teardown, even if pods are still gated.
  std::chrono::milliseconds give_up{90'000};
  // Between two passes, and between those that begin later than `soon`: most likely, the process is
  // ended before.
  std::chrono::milliseconds poll{250};
  std::chrono::milliseconds soon{10'000};
  std::chrono::milliseconds late_poll{2'000};
  // The longest delay of the watch after errors: there are a few seconds in all.
  std::chrono::milliseconds watch_again{1'000};
  std::chrono::milliseconds ask{2'000};
};

class OwnNamespaceTeardown {
 public:
  // `client` and `clock` outlive this. `ns`: the operator's namespace.
  OwnNamespaceTeardown(kube::Client& client, kube::Clock& clock, std::string ns,
                       OwnNamespaceTeardownTiming timing = {});

  // Called once, when the namespace is first seen with a deletionTimestamp. Before Watch().
  void OnDue(std::function<void()> listener) { on_due_ = std::move(listener); }
  // Watches the namespace until cancelled.
  boost::asio::awaitable<void> Watch();
  bool due() const { return due_; }
  // Asks whether the namespace is being deleted, for a process that ends: its watch may be behind.
  // Takes `ask` at most; an error is logged.
  boost::asio::awaitable<void> Ask();

  // `last`: for a process that ends: ungates all pods at once. Otherwise, returns when no pod is
  // gated and none can be gated any more, or after `give_up` with a log line. Errors of the API
  // server are logged and retried. When cancelled, ungates all pods at once and returns the errors
  // of that.
  kube::Async<> Run(bool last = false);

 private:
  void Due();
  // What a pass found.
  struct Found {
    // Something that gates pods.
    bool gating = false;
    // Possibly a gated pod.
    bool pods = false;
  };

  // Attempts every step once; pods are ungated only if `ungate`. Errors: the last one.
  kube::Async<Found> Pass(bool ungate);
  // Removes what gates pods.
  kube::Async<bool> StopGating();
  // The operator's objects of a kind, which the API server need not know.
  kube::Async<bool> RemoveAll(kube::Resource resource);
  kube::Async<bool> UngatePods(bool ungate);
  kube::Async<> RemoveClusterConfigFinalizers();

  kube::Client& client_;
  kube::Clock& clock_;
  std::string ns_;
  OwnNamespaceTeardownTiming timing_;
  kube::Informer<kube::Unstructured> namespace_;
  std::function<void()> on_due_;
  bool due_ = false;
};

}  // namespace operator_
