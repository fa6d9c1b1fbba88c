// SPDX-License-Identifier: Apache-2.0
// App: the common part of all mains: flags, logging, event loop, signals and exit code.
//
//   Async<> Serve(App& app) {
//     Result<Server> server = ...;
//     if (!server) co_return server.error();  // ends the process with an error line and code 1
//     app.tasks().Spawn("server", server->Run());
//     co_await app.WaitForStop();  // SIGTERM or SIGINT
//     co_return co_await app.EndTasks(app.tasks());  // before the destruction of `server`
//   }
//   int main(int argc, char** argv) {
//     return kube::RunApp({"my-server", "Serves.", "1.0", argc, argv}, Serve);
//   }
//
// The first signal cancels the operation that the main function waits for, which fails with
// kCancelled. After ForgetCancellation() the main function can wait again: to drain, release its
// lease and return. A second signal or the end of --shutdown-grace ends the process at once. After
// the main function has returned, no task runs: its objects are destroyed, and remaining tasks are
// neither resumed nor destroyed.
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
  // An interactive tool: by default it logs warnings and errors only, without glog's prefix.
  bool interactive = false;
};

class App {
 public:
  App(asio::io_context& context, Clock& clock, Duration grace);

  Executor executor() { return context_.get_executor(); }
  Clock& clock() { return clock_; }
  // End these tasks before the destruction of the objects that they use.
  TaskGroup& tasks() { return tasks_; }

  // Ends all of `tasks`. First requests their stop and lets them complete their in-flight work
  // within `limit`: grace_left() by default, some seconds less once the process is stopping. Then
  // cancels the remaining work. If tasks still run after that, logs their names and ends the
  // process with code 1 without destroying anything. Errors: kCancelled if the caller was cancelled
  // meanwhile; all tasks have ended in this case too.
  Async<> EndTasks(TaskGroup& tasks) { return EndTasks(tasks, grace_left()); }
  Async<> EndTasks(TaskGroup& tasks, Duration limit);

  // True after the first SIGTERM or SIGINT.
  bool stopping() const { return stopping_; }
  // Resumes when the process is stopping. Forgets the cancellation, the caller can wait during its
  // cleanup. Only for the main function.
  asio::awaitable<void> WaitForStop();
  // --shutdown-grace; its remaining time once the process is stopping.
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
// thread. Returns the exit code: 0 for success, 1 for an error of the main function, 2 for a wrong
// command line (the message names the flag).
int RunApp(const AppOptions& options, std::function<Async<>(App&)> main_function);

// The first step of RunApp(): parses the command line into the gflags of this binary. Unknown
// flags, bad values and positional arguments end the process with code 2 and a message, --help and
// --version with code 0.
void ParseFlags(const AppOptions& options);

}  // namespace kube
