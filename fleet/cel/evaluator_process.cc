// SPDX-License-Identifier: Apache-2.0
#include "fleet/cel/evaluator_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
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

// The largest part of `patience` that one wait uses up.
constexpr std::chrono::milliseconds kWaitAtOnce{50};
// Other tasks run after so many reads in a row that did not have to wait. One gives at most what
// the socket buffers, some 200 KB.
constexpr int kMaxInOneGo = 16;
// Pauses between attempts to reap a killed process, each twice as long: a second in all.
constexpr std::chrono::milliseconds kFirstPause{1};
constexpr std::chrono::milliseconds kLastPause{512};

// Files without O_CLOEXEC that the hub itself was started with. Older kernels than 5.11 cannot do
// it.
bool CloseOtherFiles() {
  (void)::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  return true;
}

}  // namespace

Result<std::unique_ptr<EvaluatorProcess>> EvaluatorProcess::Start(const kube::Executor& executor,
                                                                  kube::Clock& clock,
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
                                   .new_group = true,
                                   .prepare = CloseOtherFiles});
  ::close(ends[1]);
  if (nowhere >= 0) ::close(nowhere);
  if (!pid) return pid.error();
  std::unique_ptr<EvaluatorProcess> process(new EvaluatorProcess(*pid, std::move(stream), clock));
  if (int error = ::clock_getcpuclockid(*pid, &process->cpu_clock_); error != 0)
    return Error::Unavailable(program + ": no CPU clock: " + std::strerror(error));
  return process;
}

EvaluatorProcess::~EvaluatorProcess() {
  Kill();
  for (auto pause = kFirstPause; !TryReap() && pause <= kLastPause; pause *= 2)
    std::this_thread::sleep_for(pause);
}

void EvaluatorProcess::Expect(Duration patience, Duration most) {
  patience_ = patience;
  waited_ = Duration::zero();
  cpu_before_ = TotalCpu();
  until_ = clock_.Now() + most;
}

Duration EvaluatorProcess::TotalCpu() const {
  timespec used{};
  // A process that has ended has its clock until it is reaped.
  if (pid_ < 0 || ::clock_gettime(cpu_clock_, &used) != 0) return cpu_at_end_;
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

Duration EvaluatorProcess::TakeCpu() {
  const Duration total = TotalCpu();
  return total - std::exchange(cpu_taken_, total);
}

Async<> EvaluatorProcess::Write(std::span<const std::string_view> frames) {
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
    if (ec != asio::error::would_block) {
      Error ended = co_await Ended();
      co_return ended;
    }
    Result<> ready = co_await Wait(Stream::wait_write);
    if (!ready) co_return ready.error();
  }
  co_return Ok();
}

Async<std::string> EvaluatorProcess::Read() {
  co_await kube::IgnoreCancellation();
  char header[4];
  Result<> received = co_await ReceiveAll(header);
  if (!received) co_return received.error();
  size_t size = 0;
  for (char byte : header) size = size << 8 | static_cast<unsigned char>(byte);
  if (size > kMaxFrameBytes) co_return Error::Invalid("the evaluator's frame is too long");
  std::string frame(size, '\0');
  received = co_await ReceiveAll(frame);
  if (!received) co_return received.error();
  co_return frame;
}

Async<> EvaluatorProcess::ReceiveAll(std::span<char> bytes) {
  while (!bytes.empty()) {
    if (++in_one_go_ > kMaxInOneGo) {
      Result<> yielded = co_await Yield();
      if (!yielded) co_return yielded.error();
    }
    error_code ec;
    bytes = bytes.subspan(stream_.read_some(asio::buffer(bytes.data(), bytes.size()), ec));
    if (!ec) continue;
    if (ec != asio::error::would_block) {
      Error ended = co_await Ended();
      co_return ended;
    }
    Result<> ready = co_await Wait(Stream::wait_read);
    if (!ready) co_return ready.error();
  }
  co_return Ok();
}

Async<> EvaluatorProcess::Check() {
  bool cancelled = co_await kube::IsCancelled();
  if (cancelled) co_return Error::Cancelled("the evaluator's answer");
  if (waited_ >= patience_ || TotalCpu() - cpu_before_ >= patience_)
    co_return Error::DeadlineExceeded("the evaluator did not answer in time");
  // Last: an expression that used up `patience` as well is to blame.
  if (clock_.Now() >= until_)
    co_return Error::Unavailable("no answer of the evaluator yet: this process is too busy");
  co_return Ok();
}

Async<> EvaluatorProcess::Yield() {
  Result<> checked = co_await Check();
  if (!checked) co_return checked.error();
  co_await asio::post(stream_.get_executor(), asio::use_awaitable);
  in_one_go_ = 0;
  co_return Ok();
}

Async<> EvaluatorProcess::Wait(Stream::wait_type what) {
  Result<> checked = co_await Check();
  if (!checked) co_return checked.error();
  const Duration at_most = std::min<Duration>(patience_ - waited_, kWaitAtOnce);
  const kube::TimePoint begun = clock_.Now();

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

  in_one_go_ = 0;
  waited_ += late ? at_most : std::min<Duration>(clock_.Now() - begun, at_most);
  if (!late && std::get<0>(waited) == asio::error::operation_aborted)
    co_return Error::Cancelled("the evaluator's answer");
  co_return Ok();
}

asio::awaitable<Error> EvaluatorProcess::Ended() {
  // It closes its streams only by ending, or it is broken.
  Result<int> code = co_await End();
  if (!code) co_return Error::Unavailable(code.error().message());
  co_return Error::Unavailable("the evaluator ended with exit code " + std::to_string(*code));
}

Async<int> EvaluatorProcess::End() {
  co_await kube::IgnoreCancellation();
  Kill();
  for (auto pause = kFirstPause; !TryReap(); pause *= 2) {
    if (pause > kLastPause)
      co_return Error::DeadlineExceeded("the evaluator was killed and has not ended yet");
    asio::steady_timer timer(stream_.get_executor(), pause);
    co_await timer.async_wait(kube::kTuple);
  }
  co_return exit_code_;
}

void EvaluatorProcess::Kill() {
  if (running()) ::kill(pid_, SIGKILL);
  killed_ = true;
}

bool EvaluatorProcess::TryReap() {
  if (pid_ < 0) return true;
  cpu_at_end_ = TotalCpu();
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == 0) return false;
  exit_code_ = kube::ExitCode(status);
  pid_ = -1;
  return true;
}

}  // namespace fleet::cel
