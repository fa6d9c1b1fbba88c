// SPDX-License-Identifier: Apache-2.0
// EvaluatorProcess: the running evaluator as a stream of frames: four bytes with the length,
// big-endian, then so many bytes.
//
// After an error the stream has no defined position: destroy the object, which kills and reaps the
// process. Thread: the executor's; one call at a time.
#pragma once

#include <sys/types.h>

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

  // Starts the program at this path, without arguments and with an empty environment.
  // Errors: kNotFound, kUnavailable, as kube::Spawn().
  static kube::Result<std::unique_ptr<EvaluatorProcess>> Start(const kube::Executor& executor,
                                                               const std::string& program);
  ~EvaluatorProcess();
  EvaluatorProcess(const EvaluatorProcess&) = delete;
  EvaluatorProcess& operator=(const EvaluatorProcess&) = delete;

  pid_t pid() const { return pid_; }

  // `patience` is how long to wait for the process at most; it is reduced by the time that passed.
  // While the event loop is busy with other work, it hardly passes: that is not the process's
  // delay. Errors of both: kDeadlineExceeded; kCancelled; kUnavailable (the process has ended; the
  // message has its exit code); kInvalid (the frame is too long). Write: all of `frames`, in one
  // step where possible: each wakes the process.
  kube::Async<> Write(std::span<const std::string_view> frames, kube::Duration& patience);
  kube::Async<std::string> Read(kube::Duration& patience);

 private:
  using Stream = boost::asio::local::stream_protocol::socket;

  EvaluatorProcess(pid_t pid, Stream stream) : pid_(pid), stream_(std::move(stream)) {}

  kube::Async<> ReceiveAll(std::span<char> bytes, kube::Duration& patience);
  // Waits until the stream is ready, or for a part of `patience`.
  kube::Async<> Wait(Stream::wait_type what, kube::Duration& patience);
  kube::Error Ended();

  pid_t pid_;
  Stream stream_;
};

}  // namespace fleet::cel
