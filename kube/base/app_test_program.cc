// SPDX-License-Identifier: Apache-2.0
#include <gflags/gflags.h>

#include <boost/asio/post.hpp>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "kube/base/app.h"
#include "kube/base/async.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"

DEFINE_string(behaviour, "wait",
              "wait, fail, throw, sleep (cancelled by the signal), hang (ignores it), stubborn "
              "(with a task that never ends), slow (with a task that only ends when cancelled) or "
              "leave (returns without ending its tasks).");

namespace {

// An object of the main function that tasks use.
struct Used {
  ~Used() { std::cout << "used object is destroyed" << std::endl; }
};

kube::asio::awaitable<void> Use(kube::App& app, Used&, bool for_ever) {
  using namespace std::chrono_literals;
  co_await kube::FinishWhenStopped();
  co_await kube::IgnoreCancellation();
  co_await kube::asio::post(app.executor(), kube::asio::use_awaitable);
  std::cout << "task runs" << std::endl;
  do {
    kube::Result<> slept = co_await app.clock().Sleep(1h);
    kube::IgnoreError(slept, "it ends with the request to stop");
  } while (for_ever);
  std::cout << "task ends" << std::endl;
}

kube::Async<> Main(kube::App& app) {
  using namespace std::chrono_literals;
  std::cout << "main runs" << std::endl;
  if (FLAGS_behaviour == "fail")
    co_return kube::Error::Unavailable("no server at example.test:443");
  if (FLAGS_behaviour == "throw") throw std::runtime_error("thrown by main");
  Used used;
  if (FLAGS_behaviour == "leave") {
    app.tasks().Spawn("left-behind", Use(app, used, false));
    co_return kube::Ok();
  }
  bool stubborn = FLAGS_behaviour == "stubborn";
  if (stubborn || FLAGS_behaviour == "slow") {
    app.tasks().Spawn("the-task", Use(app, used, stubborn));
    co_await app.WaitForStop();
    kube::Result<> ended = co_await app.EndTasks(app.tasks());
    if (app.grace_left().count() > 0) std::cout << "time is left" << std::endl;
    co_return ended;
  }
  if (FLAGS_behaviour == "sleep") co_return co_await app.clock().Sleep(1h);
  while (FLAGS_behaviour == "hang") {
    kube::Result<> slept = co_await app.clock().Sleep(1h);
    kube::IgnoreError(slept, "it ends with the request to stop");
  }
  co_await app.WaitForStop();
  std::cout << "main drains" << std::endl;
  // The signal cancelled one await; the next ones work.
  kube::Result<> slept = co_await app.clock().Sleep(1ms);
  if (!slept) co_return kube::Error::Internal("cancelled a second time");
  co_return kube::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  kube::AppOptions options{"test-program", "Waits.", "1.2.3", argc, argv};
  options.interactive = std::getenv("INTERACTIVE") != nullptr;
  return kube::RunApp(options, Main);
}
