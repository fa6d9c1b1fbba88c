// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/evaluator_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "kube/base/spawn.h"

namespace fleet::cel {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using kube::Async;
using kube::Duration;
using kube::Error;
using kube::Ok;
using kube::Result;
using std::chrono::steady_clock;

// The largest part of `patience` that one wait uses up.
constexpr std::chrono::milliseconds kWaitAtOnce{50};

int Reap(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<std::unique_ptr<EvaluatorProcess>> EvaluatorProcess::Start(const kube::Executor& executor,
                                                                  const std::string& program) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::Unavailable(program + ": socketpair: " + std::strerror(errno));
  }
  Stream stream(executor);
  error_code ec;
  stream.assign(asio::local::stream_protocol(), ends[0], ec);
  if (ec) {
    for (int end : ends) ::close(end);
    return Error::Unavailable(program + ": " + ec.message());
  }
  stream.non_blocking(true, ec);
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
  if (!pid) return pid.error();
  return std::unique_ptr<EvaluatorProcess>(new EvaluatorProcess(*pid, std::move(stream)));
}

EvaluatorProcess::~EvaluatorProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    Reap(pid_);
  }
}

Async<> EvaluatorProcess::Write(std::span<const std::string_view> frames, Duration& patience) {
  co_await kube::IgnoreCancellation();
  std::string bytes;
  for (std::string_view frame : frames) {
    if (frame.size() > kMaxFrameBytes) co_return Error::Invalid("the frame is too long");
    for (int shift : {24, 16, 8, 0}) bytes += static_cast<char>(frame.size() >> shift);
    bytes += frame;
  }
  std::string_view left = bytes;
  while (!left.empty()) {
    error_code ec;
    left.remove_prefix(stream_.write_some(asio::buffer(left), ec));
    if (!ec) continue;
    if (ec != asio::error::would_block) co_return Ended();
    Result<> ready = co_await Wait(Stream::wait_write, patience);
    if (!ready) co_return ready.error();
  }
  co_return Ok();
}

Async<std::string> EvaluatorProcess::Read(Duration& patience) {
  co_await kube::IgnoreCancellation();
  char header[4];
  Result<> received = co_await ReceiveAll(header, patience);
  if (!received) co_return received.error();
  size_t size = 0;
  for (char byte : header) size = size << 8 | static_cast<unsigned char>(byte);
  if (size > kMaxFrameBytes) co_return Error::Invalid("the evaluator's frame is too long");
  std::string frame(size, '\0');
  received = co_await ReceiveAll(frame, patience);
  if (!received) co_return received.error();
  co_return frame;
}

Async<> EvaluatorProcess::ReceiveAll(std::span<char> bytes, Duration& patience) {
  while (!bytes.empty()) {
    error_code ec;
    bytes = bytes.subspan(stream_.read_some(asio::buffer(bytes.data(), bytes.size()), ec));
    if (!ec) continue;
    if (ec != asio::error::would_block) co_return Ended();
    Result<> ready = co_await Wait(Stream::wait_read, patience);
    if (!ready) co_return ready.error();
  }
  co_return Ok();
}

Async<> EvaluatorProcess::Wait(Stream::wait_type what, Duration& patience) {
  bool cancelled = co_await kube::IsCancelled();
  if (cancelled) co_return Error::Cancelled("the evaluator's answer");
  if (patience <= Duration::zero())
    co_return Error::DeadlineExceeded("the evaluator did not answer in time");
  const Duration at_most = std::min<Duration>(patience, kWaitAtOnce);
  const steady_clock::time_point begun = steady_clock::now();

  bool late = false;
  auto waiting = std::make_shared<bool>(true);
  asio::steady_timer timer(stream_.get_executor(), at_most);
  timer.async_wait([this, waiting, &late](error_code ec) {
    if (ec || !*waiting) return;
    late = true;
    stream_.cancel(ec);
  });
  std::shared_ptr<void> disarm(nullptr, [waiting](void*) { *waiting = false; });
  auto waited = co_await stream_.async_wait(what, kube::kTuple);

  patience -= std::min<Duration>(steady_clock::now() - begun, at_most);
  if (!late && std::get<0>(waited) == asio::error::operation_aborted)
    co_return Error::Cancelled("the evaluator's answer");
  co_return Ok();
}

Error EvaluatorProcess::Ended() {
  // It closes its streams only by ending, or it is broken.
  ::kill(pid_, SIGKILL);
  int code = kube::ExitCode(Reap(pid_));
  pid_ = -1;
  return Error::Unavailable("the evaluator ended with exit code " + std::to_string(code));
}

}  // namespace fleet::cel
