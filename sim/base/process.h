// SPDX-License-Identifier: Apache-2.0
// Process: a program of the product in the simulation, started any number of times. Each start is a
// life: an event loop, clocks, a client and the program's main function.
//
//   Process shard(loop, "shard", [](Life& life) -> kube::Async<> {
//     shard::NamespaceController controller(life.client(), life.clock(), ...);
//     ...
//     co_await life.app().WaitForStop();
//     co_return co_await life.app().EndTasks(life.app().tasks());
//   }, new_client);
//   shard.Start();
//   shard.Kill();                 // SIGKILL: nothing of this life happens any more
//
// A life that has ended is kept until the program ends, and never runs again: as at the end of a
// real process, nothing of it is destroyed. So run few simulations in one process. Thread: the
// Loop's.
#pragma once

#include <boost/asio/cancellation_signal.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/client/client.h"
#include "kube/metrics/metrics.h"
#include "sim/base/loop.h"
#include "sim/base/process_clock.h"

namespace sim {

// The way of a process to the API server.
class ProcessClient : public kube::Client {
 public:
  // No call is answered from now on.
  virtual void Cut() = 0;
};

class Life {
 public:
  Life(Loop& loop, kube::Duration grace);

  kube::App& app() { return app_; }
  ProcessClock& clock() { return clock_; }
  ProcessClient& client() { return *client_; }
  // The program's metrics, which can be read after its end.
  kube::Metrics& metrics() { return metrics_; }
  Loop::Lane& lane() { return *lane_; }
  // Nothing of it happens any more.
  bool ended() const { return ended_; }
  // Calls `happen` at its end, when the main function's objects may not exist any more.
  void OnEnd(std::function<void()> happen) { on_end_.push_back(std::move(happen)); }

 private:
  friend class Process;
  bool ended_ = false;
  std::vector<std::function<void()>> on_end_;
  std::unique_ptr<Loop::Lane> lane_;
  ProcessClock clock_;
  kube::App app_;
  kube::Metrics metrics_;
  std::unique_ptr<ProcessClient> client_;
  boost::asio::cancellation_signal stop_;
};

class Process {
 public:
  using Main = std::function<kube::Async<>(Life& life)>;
  using NewClient = std::function<std::unique_ptr<ProcessClient>(Life& life)>;

  // `main` may use the life's objects until it returns.
  Process(Loop& loop, std::string name, Main main, NewClient new_client);
  ~Process() { Kill(); }

  const std::string& name() const { return name_; }

  // A new life; it does not run yet.
  void Start();
  // SIGTERM: the life ends when its main function returns.
  void Stop();
  // SIGKILL.
  void Kill();
  // SIGSTOP and SIGCONT.
  void Pause();
  void Resume();

  // nullptr after its end.
  Life* life() { return life_.get(); }
  // All lives, those that have ended too.
  const std::vector<Life*>& lives() const { return lives_; }
  // How the last life that ended by itself did so; nullopt while it runs and after a Kill().
  const std::optional<kube::Result<>>& outcome() const { return outcome_; }

 private:
  Loop& loop_;
  std::string name_;
  Main main_;
  NewClient new_client_;
  std::unique_ptr<Life> life_;
  std::vector<Life*> lives_;
  std::optional<kube::Result<>> outcome_;
};

}  // namespace sim
