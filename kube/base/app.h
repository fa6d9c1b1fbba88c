// SPDX-License-Identifier: Apache-2.0
// App: what every main() of ours shares - flags, logging, the event loop, signals, the exit code.
//
//   Async<> Serve(App& app) {
//     Result<Server> server = ...;                     // an Error ends the process: exit code 1
//     and one line that says why if (!server) co_return server.error(); app.tasks().Spawn("server",
//     server->Run()); co_await app.WaitForStop();                      // SIGTERM or SIGINT
//     co_return co_await app.EndTasks(app.tasks());    // before anything that they use goes out of
//     scope
//   }
//   int main(int argc, char** argv) { return kube::RunApp({"webhook", "Gates pods.", api::kVersion,
//   argc, argv}, Serve); }
//
// The first signal cancels what the main function waits for: that ends with kCancelled, and after
// ForgetCancellation() the function can wait again, to drain, release its lease and return. A
// second signal, or --shutdown-grace running out, ends the process at once. Once the main function
// has returned nothing runs any more, tasks that still exist included: what they use is destroyed
// when it returns, and none of them is resumed or destroyed after that.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/base/task_group.h"

namespace kube {

struct AppOptions {
  // The binary's name, for --help, --version and the log.
  std::string_view name;
  // One sentence for --help.
  std::string_view summary;
  std::string_view version;
  int argc = 0;
  char** argv = nullptr;
  // A tool that a person runs: without --log-verbosity it logs warnings and errors only, as plain
  // lines.
  bool for_a_person = false;
};

class App {
 public:
  App(asio::io_context& context, Clock& clock, Duration grace);

  Executor executor() { return context_.get_executor(); }
  Clock& clock() { return clock_; }
  // End them before what they use goes out of scope.
  TaskGroup& tasks() { return tasks_; }

  // Ends all of `tasks`, so that what they use can be destroyed: asks them to stop, lets them
  // finish what is under way within `limit` (grace_left() if not given; once the process is
  // stopping some seconds less than that), then cancels that. If tasks run on all the same, logs
  // which and ends the process at once, with 1 and without destroying anything. Errors: kCancelled
  // if the caller was asked to stop meanwhile. All tasks have ended then as well.
  Async<> EndTasks(TaskGroup& tasks) { return EndTasks(tasks, grace_left()); }
  Async<> EndTasks(TaskGroup& tasks, Duration limit);

  // True from the first SIGTERM or SIGINT on.
  bool stopping() const { return stopping_; }
  // Resumes when the process is asked to stop; at once if it was already. Forgets the cancellation,
  // so that the caller can wait for its own cleaning up. For one caller: the main function.
  Async<> WaitForStop();
  // --shutdown-grace, or what is left of it once the process is stopping.
  Duration grace_left() const;

  // Called by RunApp on the first signal.
  void BeginStop();

 private:
  asio::io_context& context_;
  Clock& clock_;
  TaskGroup tasks_;
  Duration grace_;
  bool stopping_ = false;
  TimePoint stop_deadline_;
};

// Parses the command line, sets up logging and memory, then runs `main_function` on a single
// thread. Returns the exit code: 0 good, 1 the main function failed, 2 the command line is wrong
// (the message names the flag).
int RunApp(const AppOptions& options, std::function<Async<>(App&)> main_function);

// Parses the command line into the gflags of this binary; what RunApp starts with. Besides unknown
// flags and bad values it refuses positional arguments. Ends the process with code 2 and a message,
// or with 0 after --help and --version.
void ParseFlags(const AppOptions& options);

}  // namespace kube
