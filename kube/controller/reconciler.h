// SPDX-License-Identifier: Apache-2.0
// Reconciler: drives one object to where it should be. Level-based: it looks at what the cluster
// says now, not at which event woke it, and may be called any number of times.
#pragma once

#include <chrono>
#include <optional>

#include "kube/base/async.h"
#include "kube/types/resource.h"

namespace kube {

struct Request {
  ObjectKey key;
};

// What to do with a key after a reconcile that did not fail.
class Outcome {
 public:
  // Done: no look before the next event.
  Outcome() = default;
  static Outcome Done() { return Outcome(); }
  // Look again after `delay`, event or not.
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

  // Never runs twice at once for one key. What an Error makes the controller do:
  //   kConflict                   again with backoff, quietly: somebody else wrote, decide from
  //   what is there now Error::AsTerminal()         logged; not again before the next event with
  //   retry_after()          logged; again with backoff, not before that time any other logged;
  //   again with backoff
  // An exception counts as kInternal.
  virtual Async<Outcome> Reconcile(Request request) = 0;
};

}  // namespace kube
