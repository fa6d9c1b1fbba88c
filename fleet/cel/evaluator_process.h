// SPDX-License-Identifier: Apache-2.0
// EvaluatorProcess: the running evaluator as a stream of frames: four bytes with the length,
// big-endian, then so many bytes.
//
//   process.Expect(patience, most);
//   Result<> sent = co_await process.Write(frames);
//   Result<std::string> answer = co_await process.Read();
//   if (!answer) Result<int> ended = co_await process.End();
//
// After an error the stream has no defined position: End() the process. Nothing here blocks the
// event loop but Start(), until the program is loaded, and the destructor of a process that was not
// ended. Thread: the executor's; one call at a time.
#pragma once

#include <sys/types.h>
#include <time.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace fleet::cel {

class EvaluatorProcess {
 public:
  // Longer frames are an error on both sides.
  static constexpr size_t kMaxFrameBytes = 4 << 20;

  // Starts the program at this path, without arguments, with an empty environment and no open files
  // but its streams. `clock` outlives the process.
  // Errors: kNotFound, kUnavailable, as kube::Spawn().
  static kube::Result<std::unique_ptr<EvaluatorProcess>> Start(const kube::Executor& executor,
                                                               kube::Clock& clock,
                                                               const std::string& program);
  // For the end of the program: kills the process and waits for its end, a second at most.
  ~EvaluatorProcess();
  EvaluatorProcess(const EvaluatorProcess&) = delete;
  EvaluatorProcess& operator=(const EvaluatorProcess&) = delete;

  pid_t pid() const { return pid_; }
  // False once it was killed or has ended.
  bool running() const { return pid_ > 0 && !killed_; }

  // Begins a request: limits of Write() and Read() until the next call. `patience` is how long to
  // wait for the process, and how much CPU time it may use. While the event loop is busy with other
  // work, waiting hardly counts: that is not the process's delay. `most`: time of the request, with
  // that of the busy loop.
  void Expect(kube::Duration patience, kube::Duration most);
  // Since then: the part of `patience` that passed.
  kube::Duration waited() const { return waited_; }
  // CPU time of the process since the last call. The kernel counts that of a running process some
  // milliseconds later: then the next call returns it.
  kube::Duration TakeCpu();

  // Errors of both: kDeadlineExceeded (`patience`); kCancelled; kUnavailable (the process has
  // ended, and its exit code is in the message; or `most`, then it is still running()); kInvalid
  // (the frame is too long). Write: all of `frames`, in one step where possible: each wakes the
  // process. Read: lets other tasks run from time to time, however much there is.
  kube::Async<> Write(std::span<const std::string_view> frames);
  kube::Async<std::string> Read();

  // Kills the process if it is running, and reaps it. Returns: its exit code.
  // Errors: kDeadlineExceeded (it has not ended within a second: the kernel waits for a device; may
  // be called again). A cancelled caller waits too.
  kube::Async<int> End();

 private:
  using Stream = boost::asio::local::stream_protocol::socket;

  EvaluatorProcess(pid_t pid, Stream stream, kube::Clock& clock)
      : pid_(pid), stream_(std::move(stream)), clock_(clock) {}

  kube::Async<> ReceiveAll(std::span<char> bytes);
  // Why the request must not go on: its limits, or a cancelled caller.
  kube::Async<> Check();
  // Waits until the stream is ready, or for a part of `patience`.
  kube::Async<> Wait(Stream::wait_type what);
  // Lets other tasks run.
  kube::Async<> Yield();
  // Ends the process. Returns: why there is no answer.
  boost::asio::awaitable<kube::Error> Ended();

  void Kill();
  // Reaps the process if it has ended; does not block. True if it is reaped.
  bool TryReap();
  kube::Duration TotalCpu() const;

  pid_t pid_;  // -1 once it is reaped
  bool killed_ = false;
  int exit_code_ = 0;  // once it is reaped
  Stream stream_;
  kube::Clock& clock_;
  clockid_t cpu_clock_ = 0;
  kube::Duration cpu_taken_{};
  kube::Duration cpu_at_end_{};

  // Of the request.
  kube::Duration patience_{};
  kube::Duration waited_{};
  kube::Duration cpu_before_{};
  kube::TimePoint until_;

  int in_one_go_ = 0;  // reads since the last wait
};

}  // namespace fleet::cel
