// SPDX-License-Identifier: Apache-2.0
#include "kube/base/app.h"

#include <gflags/gflags.h>
#include <glog/logging.h>
#include <malloc.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <optional>
#include <vector>

#include "kube/base/log_verbosity.h"

namespace {

bool IsDuration(const char* flag, const std::string& value) {
  auto parsed = kube::ParseDuration(value);
  if (!parsed) std::fprintf(stderr, "--%s: %s\n", flag, parsed.error().message().c_str());
  return parsed.has_value();
}

}  // namespace

DEFINE_string(shutdown_grace, "20s",
              "Time limit for in-flight work and cleanup after SIGTERM, such as 20s or 1m.");
DEFINE_validator(shutdown_grace, &IsDuration);

// A hook for gflags' own tests: exported by its library, not declared in its headers.
namespace google {
extern void (*gflags_exitfunc)(int);
}

namespace kube {
namespace {

using namespace std::chrono_literals;

constexpr int kUsageError = 2;
constexpr Duration kTrimEvery = 30s;
// The limit for a task to end after its cancellation.
constexpr Duration kCancelledEndWithin = 4s;
// The part of the grace period that remains for cancellation and for the release of the lease.
constexpr Duration kKeptOfGrace = 5s;

// Flags are documented with hyphens; gflags accepts both.
std::string CommandLineName(std::string name) {
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void PrintHelp(const AppOptions& options) {
  std::cout << options.name << ": " << options.summary << "\n\nFlags:\n";
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  for (const gflags::CommandLineFlagInfo& flag : flags) {
    // Skip the flags of libraries, whose sources are in "src" folders.
    if (flag.filename.find("src/") != std::string::npos) continue;
    std::cout << "  --" << CommandLineName(flag.name) << "  " << flag.description << " Default: \""
              << flag.default_value << "\".\n";
  }
  std::cout << "  --version  Prints the version.\n  --help  Prints this.\n";
}

bool IsSet(const char* flag) {
  std::string value;
  return gflags::GetCommandLineOption(flag, &value) && value == "true";
}

void StartLogging(const AppOptions& options) {
  FLAGS_logtostderr = true;
  // glog keeps the pointer.
  static std::string name;
  name = options.name;
  google::InitGoogleLogging(name.c_str());
  StartLogVerbosity();
  if (options.interactive && FLAGS_v == 0) {
    FLAGS_minloglevel = google::GLOG_WARNING;
    FLAGS_log_prefix = false;
  }
}

// For processes that run for months in a few MB: one arena, freed memory returns to the system.
void TuneMemory() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_TRIM_THRESHOLD, 128 * 1024);
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
}

[[noreturn]] void EndAtOnce(int code) {
  google::FlushLogFiles(google::INFO);
  std::_Exit(code);
}

asio::awaitable<void> ExitAfter(Clock& clock, Duration grace) {
  Result<> slept = co_await clock.Sleep(grace);
  if (!slept) co_return;
  LOG(ERROR) << "not stopped within the grace period; the process ends";
  EndAtOnce(1);
}

asio::awaitable<void> RunMain(App& app, asio::io_context& context,
                              std::function<Async<>(App&)> main_function,
                              std::optional<Result<>>& outcome) {
  co_await IgnoreCancellation();
  try {
    Result<> done = co_await main_function(app);
    outcome = std::move(done);
  } catch (const std::exception& e) {
    outcome = Error::Internal(std::string("unexpected exception: ") + e.what());
  } catch (...) {
    outcome = Error::Internal("unexpected exception");
  }
  // The main function's objects are destroyed: no task may run any more, not even one that is
  // ready.
  context.stop();
}

// free() alone only returns the end of the heap: the memory of a burst would stay resident.
asio::awaitable<void> TrimMemory(Clock& clock) {
  co_await IgnoreCancellation();
  while (true) {
    Result<> slept = co_await clock.Sleep(kTrimEvery);
    if (!slept) break;
    malloc_trim(0);
  }
}

}  // namespace

App::App(asio::io_context& context, Clock& clock, Duration grace)
    : context_(context), clock_(clock), tasks_(context.get_executor()), grace_(grace) {}

asio::awaitable<void> App::WaitForStop() {
  co_await IgnoreCancellation();
  while (!stopping_) {
    Result<> slept = co_await clock_.Sleep(24h);
    if (!slept) break;
  }
  co_await ForgetCancellation();
}

Duration App::grace_left() const {
  return stopping_ ? std::max(stop_deadline_ - clock_.Now(), Duration::zero()) : grace_;
}

Async<> App::EndTasks(TaskGroup& tasks, Duration limit) {
  co_await IgnoreCancellation();
  TimePoint deadline = clock_.Now() + limit;
  bool asked = false;
  Result<> ended = Ok();
  // A stop request during the wait only shortens the wait.
  do {
    Duration left = std::max(deadline - clock_.Now(), Duration::zero());
    if (stopping_) left = std::min(left, std::max(grace_left() - kKeptOfGrace, Duration::zero()));
    ended = co_await tasks.Stop(clock_, left);
    asked = asked || FailedWith(ended, Code::kCancelled);
  } while (FailedWith(ended, Code::kCancelled));
  if (!ended) {
    LOG(WARNING) << ended.error() << "; cancelling them";
    do {
      ended = co_await tasks.Stop(clock_, kCancelledEndWithin);
      asked = asked || FailedWith(ended, Code::kCancelled);
    } while (FailedWith(ended, Code::kCancelled));
  }
  if (!ended) {
    LOG(ERROR) << ended.error()
               << "; the process ends without destroying the objects that they use";
    EndAtOnce(1);
  }
  bool cancelled = co_await IsCancelled();
  if (asked || cancelled) co_return Error::Cancelled("end of tasks");
  co_return Ok();
}

void App::BeginStop() {
  stopping_ = true;
  stop_deadline_ = clock_.Now() + grace_;
}

void ParseFlags(const AppOptions& options) {
  google::gflags_exitfunc = [](int code) { std::exit(code == 0 ? 0 : kUsageError); };
  int argc = options.argc;
  char** argv = options.argv;
  gflags::SetVersionString(std::string(options.version));
  gflags::ParseCommandLineNonHelpFlags(&argc, &argv, /*remove_flags=*/true);
  if (IsSet("help")) {
    PrintHelp(options);
    std::exit(0);
  }
  if (IsSet("version")) {
    std::cout << options.name << " " << options.version << "\n";
    std::exit(0);
  }
  if (argc > 1) {
    std::cerr << options.name << ": unexpected argument '" << argv[1]
              << "': use --flag=value, see --help\n";
    std::exit(kUsageError);
  }
}

int RunApp(const AppOptions& options, std::function<Async<>(App&)> main_function) {
  TuneMemory();
  ParseFlags(options);
  StartLogging(options);
  std::signal(SIGPIPE, SIG_IGN);

  // Never destroyed: destroying the remaining coroutines would use the main function's objects,
  // which no longer exist.
  static asio::io_context& context = *new asio::io_context(1);
  static App& app = *new App(context, RealClock(), *ParseDuration(FLAGS_shutdown_grace));
  static TaskGroup& guards = *new TaskGroup(context.get_executor());

  std::optional<Result<>> outcome;
  asio::cancellation_signal cancel_main;
  // Never called: the context has stopped before.
  auto finished = [](std::exception_ptr) {};
  asio::co_spawn(context, RunMain(app, context, std::move(main_function), outcome),
                 asio::bind_cancellation_slot(cancel_main.slot(), finished));

  asio::signal_set signals(context, SIGTERM, SIGINT);
  std::function<void(boost::system::error_code, int)> on_signal = [&](boost::system::error_code ec,
                                                                      int signal) {
    if (ec) return;
    if (app.stopping()) {
      LOG(WARNING) << "second signal (" << strsignal(signal) << "): the process ends";
      EndAtOnce(128 + signal);
    }
    LOG(INFO) << strsignal(signal) << ": stopping";
    app.BeginStop();
    // One second more than the main function has: its log of the running tasks comes first.
    guards.Spawn("shutdown-grace", ExitAfter(app.clock(), app.grace_left() + 1s));
    signals.async_wait(on_signal);
    cancel_main.emit(asio::cancellation_type::terminal);
  };
  signals.async_wait(on_signal);

  guards.Spawn("trim-memory", TrimMemory(app.clock()));
  guards.Spawn("log-verbosity", FollowLogVerbosity(app.clock()));

  LOG(INFO) << options.name << " " << options.version << " starts";
  context.run();

  bool failed = !*outcome && !(app.stopping() && outcome->error().code() == Code::kCancelled);
  if (failed) LOG(ERROR) << options.name << ": " << outcome->error();
  LOG_IF(INFO, !failed) << options.name << " ends";
  google::FlushLogFiles(google::INFO);
  return failed ? 1 : 0;
}

}  // namespace kube
