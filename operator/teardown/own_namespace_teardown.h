// SPDX-License-Identifier: Apache-2.0
// OwnNamespaceTeardown: what the operator does when its own namespace is being deleted, and
// everybody with it who lets pods go (I7).
//
//   OwnNamespaceTeardown teardown(client, clock, ns);
//   teardown.OnDue([&] { ... });                  // stop leading: nothing may be made any more
//   tasks.Spawn("own-namespace", teardown.Watch());
//   ...
//   if (teardown.due()) co_await teardown.Run();
//
// A namespace's content is deleted, in no order, some seconds after the namespace was marked for
// it. Until then all permissions, tokens and controllers are there, so that is the time to act in:
// pods are gated no more, those that wait are left to their controllers for a moment and then let
// go as they are, and the ClusterPodPlacementConfig loses the finalizers that nobody is left to
// answer. All else of ours is owned by the Namespace and goes with it (see objects/metadata.h).
// Every replica does it: what another has done already is no trouble. What is refused keeps nothing
// else from being done, and pods that somebody keeps creating with the gate are not waited for for
// ever. Thread: the client's.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/cache/informer.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"

namespace operator_ {

struct OwnNamespaceTeardownTiming {
  // How long the controllers may take for the pods that wait.
  std::chrono::milliseconds drain{2'000};
  // API servers may call a webhook for a moment after its configuration is gone: pods are looked
  // for that long.
  std::chrono::milliseconds settle{2'000};
  // From the beginning to the end, whatever still waits by then.
  std::chrono::milliseconds give_up{60'000};
  // Between two looks.
  std::chrono::milliseconds poll{250};
};

class OwnNamespaceTeardown {
 public:
  // `client` and `clock` outlive this; `ns`: the operator's.
  OwnNamespaceTeardown(kube::Client& client, kube::Clock& clock, std::string ns,
                       OwnNamespaceTeardownTiming timing = {});

  // Called once, when the namespace is first seen to be going. Before Watch().
  void OnDue(std::function<void()> listener) { on_due_ = std::move(listener); }
  // Watches the namespace until cancelled.
  boost::asio::awaitable<void> Watch();
  bool due() const { return due_; }

  // Returns when no pod waits and none is gated any more, or when it took too long, with a log line
  // of what is left. Errors of the API server are logged and tried again. When cancelled, ungates
  // at once what waits, and returns; errors are those of that.
  kube::Async<> Run();

 private:
  // True if something was there to be done; pods are ungated only if `let_go`. Errors: the last
  // one, after all was tried.
  kube::Async<bool> Pass(bool let_go);
  kube::Async<bool> RemoveWebhookConfigurations();
  kube::Async<bool> UngatePods(bool let_go);
  kube::Async<> FreeClusterConfig();

  kube::Client& client_;
  kube::Clock& clock_;
  OwnNamespaceTeardownTiming timing_;
  kube::Informer<kube::Unstructured> namespace_;
  std::function<void()> on_due_;
  bool due_ = false;
};

}  // namespace operator_
