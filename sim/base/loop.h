// SPDX-License-Identifier: Apache-2.0
// Loop: the time of a simulation, and the order in which its processes run. Each process has an
// event loop of its own; handlers of one process run in their order, and the seed chooses the
// process that runs its next one. Time stands still while any process can run, then goes on to the
// next event.
//
//   Loop loop(Random(7));
//   std::unique_ptr<Loop::Lane> lane = loop.NewLane();
//   asio::co_spawn(lane->io(), Work(), ...);
//   lane->Wake();                         // there is a handler
//   loop.At(loop.now() + 5s, [] {...});   // an event of the world
//   loop.RunUntil(loop.now() + 1min);
//
// Nothing else may run handlers of a lane, and what makes one ready from outside calls Wake(). One
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "sim/base/random.h"

namespace sim {

class Loop {
 public:
  // When an event is due, and its number among those of the same time: they happen in the order in
  // which they were set.
  using Event = std::pair<kube::TimePoint, uint64_t>;

  // Late enough for the subtraction of any timeout.
  static constexpr kube::TimePoint kBegin{std::chrono::hours(1'000)};

  // The event loop of one process. Destroy it before the Loop.
  class Lane {
   public:
    explicit Lane(Loop& loop) : loop_(loop) {}
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    boost::asio::io_context& io() { return io_; }
    // A handler may be ready.
    void Wake();
    // No handler runs until it is not held any more.
    void Hold(bool held);
    bool held() const { return held_; }

   private:
    friend class Loop;
    Loop& loop_;
    boost::asio::io_context io_{1};
    bool ready_ = false;
    bool held_ = false;
  };

  // `random` chooses the order.
  explicit Loop(Random random);
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  std::unique_ptr<Lane> NewLane() { return std::make_unique<Lane>(*this); }

  kube::TimePoint now() const { return now_; }
  // Calls `happen` at `when`, or when time goes on if that is past.
  Event At(kube::TimePoint when, std::function<void()> happen);
  // Does nothing if it has happened.
  void Cancel(const Event& event) { events_.erase(event); }

  // Runs all that happens before or at `when`, which is the time then. Ends the program if handlers
  // run for ever while time stands still.
  void RunUntil(kube::TimePoint when);

  // The number of handlers that ran.
  uint64_t handlers() const { return handlers_; }

 private:
  // Until no lane can run.
  void RunReady();

  Random random_;
  kube::TimePoint now_ = kBegin;
  uint64_t last_event_ = 0;
  uint64_t handlers_ = 0;
  std::map<Event, std::function<void()>> events_;
  std::vector<Lane*> ready_;
};

}  // namespace sim
