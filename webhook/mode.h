// SPDX-License-Identifier: Apache-2.0
// Mode: what the program does with the requests that it gets. Flags choose one mode; main.cc has
// the table of them, and what they share: the TLS server, health, metrics, and the drain.
#pragma once

#include <gflags/gflags.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "kube/server/health.h"
#include "kube/server/https_server.h"

namespace webhook {

// What a mode works with. All of it outlives the mode.
struct ModeContext {
  kube::Client* client;  // may be nullptr unless ChosenMode::needs_client
  kube::Clock& clock;
  kube::Metrics& metrics;
  kube::HealthRegistry& health;
};

class Mode {
 public:
  virtual ~Mode() = default;

  // Adds the mode's paths; `server` must stop before this is destroyed.
  virtual void AddTo(kube::HttpsServer& server) = 0;
  // Spawns the mode's tasks, if it has some; `tasks` must be stopped before this is destroyed.
  virtual void Start(kube::TaskGroup&) {}
  // For the operator, in the answers to its probes; "" for nothing.
  virtual std::string Report() const { return ""; }
  // After its tasks have ended and no request is answered any more.
  virtual kube::Async<> End() { co_return kube::Ok(); }
};

struct ChosenMode {
  // For the log: "adds the cluster gate".
  std::string what;
  // Whether the mode calls the API server.
  bool needs_client = false;
  // Creates its metrics and its readiness checks, too.
  std::function<std::unique_ptr<Mode>(const ModeContext&)> open;
};

// Reads the flags of a mode. `operator_namespace`: nothing in it is changed. Returns: nullopt if
// the flags do not choose the mode. Errors: kInvalid, with the flag.
using ChooseMode =
    kube::Result<std::optional<ChosenMode>> (*)(const std::string& operator_namespace);

// True if the command line has `flag`, with "_" for "-".
inline bool IsSet(const char* flag) {
  return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default;
}

}  // namespace webhook
