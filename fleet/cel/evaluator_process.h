// SPDX-License-Identifier: Apache-2.0
// EvaluatorProcess: the running evaluator as a stream of frames: four bytes with the length,
// big-endian, then so many bytes.
//
// Blocks the calling thread, never longer than the deadline of a call. After an error the stream
// has no defined position: destroy the object, which kills and reaps the process. Thread: one at a
// time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kube/base/error.h"

namespace fleet::cel {

class EvaluatorProcess {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Longer frames are an error on both sides.
  static constexpr size_t kMaxFrameBytes = 4 << 20;

  // Starts the program at this path, without arguments and with an empty environment.
  // Errors: kNotFound, kUnavailable, as kube::Spawn().
  static kube::Result<std::unique_ptr<EvaluatorProcess>> Start(const std::string& program);
  ~EvaluatorProcess();
  EvaluatorProcess(const EvaluatorProcess&) = delete;
  EvaluatorProcess& operator=(const EvaluatorProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Errors of both: kDeadlineExceeded; kUnavailable (the process has ended; the message has its
  // exit code); kInvalid (the frame is too long).
  // Write: all of `frames`, in one step where possible: each wakes the process.
  kube::Result<void> Write(std::span<const std::string_view> frames, Deadline deadline);
  kube::Result<std::string> Read(Deadline deadline);

 private:
  EvaluatorProcess(pid_t pid, int stream) : pid_(pid), stream_(stream) {}

  kube::Result<void> SendAll(std::string_view bytes, Deadline deadline);
  kube::Result<void> ReceiveAll(char* bytes, size_t size, Deadline deadline);
  // Waits until the stream is ready for `events` of poll().
  kube::Result<void> Wait(short events, Deadline deadline);
  kube::Error Ended();

  pid_t pid_;
  int stream_;
};

}  // namespace fleet::cel
