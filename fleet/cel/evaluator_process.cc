// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/evaluator_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "kube/base/spawn.h"

namespace fleet::cel {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

int Reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

bool MayTryAgain() { return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

Result<std::unique_ptr<EvaluatorProcess>> EvaluatorProcess::Start(const std::string& program) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::Unavailable(program + ": socketpair: " + std::strerror(errno));
  }
  // A crash of Go prints hundreds of lines; the exit code is enough.
  int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  Result<pid_t> pid = kube::Spawn({.argv = {program},
                                   .env = std::vector<std::string>{},
                                   .input = ends[1],
                                   .output = ends[1],
                                   .error = nowhere,
                                   // Signals of a terminal are for the hub.
                                   .new_group = true});
  ::close(ends[1]);
  if (nowhere >= 0) ::close(nowhere);
  if (!pid) {
    ::close(ends[0]);
    return pid.error();
  }
  return std::unique_ptr<EvaluatorProcess>(new EvaluatorProcess(*pid, ends[0]));
}

EvaluatorProcess::~EvaluatorProcess() {
  ::close(stream_);
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    Reap(pid_);
  }
}

Result<void> EvaluatorProcess::Write(std::span<const std::string_view> frames, Deadline deadline) {
  std::string bytes;
  for (std::string_view frame : frames) {
    if (frame.size() > kMaxFrameBytes) return Error::Invalid("the frame is too long");
    for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(frame.size() >> shift);
    bytes += frame;
  }
  return SendAll(bytes, deadline);
}

Result<std::string> EvaluatorProcess::Read(Deadline deadline) {
  char header[4];
  Result<void> received = ReceiveAll(header, sizeof header, deadline);
  if (!received) return received.error();
  size_t size = 0;
  for (char byte : header) size = size << 8 | static_cast<unsigned char>(byte);
  if (size > kMaxFrameBytes) return Error::Invalid("the evaluator's frame is too long");
  std::string frame(size, '\0');
  received = ReceiveAll(frame.data(), size, deadline);
  if (!received) return received.error();
  return frame;
}

Result<void> EvaluatorProcess::SendAll(std::string_view bytes, Deadline deadline) {
  while (!bytes.empty()) {
    ssize_t size = ::send(stream_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size >= 0) {
      bytes.remove_prefix(static_cast<size_t>(size));
      continue;
    }
    if (!MayTryAgain()) return Ended();
    Result<void> ready = Wait(POLLOUT, deadline);
    if (!ready) return ready;
  }
  return Ok();
}

Result<void> EvaluatorProcess::ReceiveAll(char* bytes, size_t size, Deadline deadline) {
  while (size > 0) {
    ssize_t got = ::recv(stream_, bytes, size, MSG_DONTWAIT);
    if (got > 0) {
      bytes += got;
      size -= static_cast<size_t>(got);
      continue;
    }
    if (got == 0 || !MayTryAgain()) return Ended();
    Result<void> ready = Wait(POLLIN, deadline);
    if (!ready) return ready;
  }
  return Ok();
}

Result<void> EvaluatorProcess::Wait(short events, Deadline deadline) {
  auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd stream{stream_, events, 0};
  int ready = left.count() > 0 ? ::poll(&stream, 1, static_cast<int>(left.count())) : 0;
  if (ready == 0) return Error::DeadlineExceeded("the evaluator did not answer in time");
  if (ready < 0 && errno != EINTR) {
    return Error::Unavailable(std::string("poll: ") + std::strerror(errno));
  }
  return Ok();
}

Error EvaluatorProcess::Ended() {
  // It closes its streams only by ending, or it is broken.
  ::kill(pid_, SIGKILL);
  int code = kube::ExitCode(Reap(pid_));
  pid_ = -1;
  return Error::Unavailable("the evaluator ended with exit code " + std::to_string(code));
}

}  // namespace fleet::cel
