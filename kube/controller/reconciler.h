// SPDX-License-Identifier: Apache-2.0
// Reconciler: brings one object to its desired state. Level-based: it acts on the current state of
// the cluster, not on the event that triggered it, and may be called any number of times.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/types/resource.h"

namespace kube {

struct Request {
  ObjectKey key;
  // The start of each log line about this reconcile: "controller=pod-labeler object=ns/web
  // reconcile=5f0c7a12".
  std::string log = {};
};

// The result of a successful reconcile: when to reconcile the key again.
class Outcome {
 public:
  // Done: not before the next event.
  Outcome() = default;
  static Outcome Done() { return Outcome(); }
  // Again after `delay`, or at the next event if that is earlier.
  static Outcome After(std::chrono::milliseconds delay) {
    Outcome outcome;
    outcome.delay_ = delay;
    return outcome;
  }

  std::optional<std::chrono::milliseconds> delay() const { return delay_; }
  bool operator==(const Outcome&) const = default;

 private:
  std::optional<std::chrono::milliseconds> delay_;
};

class Reconciler {
 public:
  virtual ~Reconciler() = default;

  // Never runs concurrently for one key. An exception counts as kInternal. The controller handles
  // an Error by its kind:
  //
  //   kConflict            retried with backoff, not logged as an error: another client wrote first
  //   Error::AsTerminal()  logged; not retried before the next event
  //   retry_after()        logged; retried with backoff, not before that time
  //   any other            logged; retried with backoff
  virtual Async<Outcome> Reconcile(Request request) = 0;
};

}  // namespace kube
