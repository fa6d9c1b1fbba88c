// SPDX-License-Identifier: Apache-2.0
#include "kube/client/command.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstring>
#include <memory>

#include "kube/base/spawn.h"

extern char** environ;

namespace kube {
namespace {

// A child process and the process group that it leads. The destructor kills and reaps them.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { Reap(); }

  pid_t pid() const { return pid_; }
  void Kill() {
    if (pid_ > 0) ::kill(-pid_, SIGKILL);
  }
  // Kills the group and returns the child's status from waitpid().
  int Reap() {
    if (pid_ > 0) {
      Kill();
      while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
      }
      pid_ = -1;
    }
    return status_;
  }

 private:
  pid_t pid_;
  int status_ = 0;
};

// An in-memory file with this text, positioned at its start; -1 on failure.
int FileOf(const std::string& text) {
  int file = ::memfd_create("input", MFD_CLOEXEC);
  size_t written = 0;
  while (file >= 0 && written < text.size()) {
    ssize_t size = ::write(file, text.data() + written, text.size() - written);
    if (size <= 0) {
      ::close(file);
      return -1;
    }
    written += static_cast<size_t>(size);
  }
  if (file >= 0) ::lseek(file, 0, SEEK_SET);
  return file;
}

// This process's environment without what is hidden, overridden by what is added.
std::vector<std::string> Environment(const Command& command) {
  std::vector<std::string> env;
  for (auto& [name, value] : command.env) env.push_back(name + "=" + value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view name = std::string_view(*entry).substr(0, std::strcspn(*entry, "="));
    bool replaced = false;
    for (auto& variable : command.env) replaced |= variable.first == name;
    for (const std::string& prefix : command.hidden_prefixes) replaced |= name.starts_with(prefix);
    if (!replaced) env.emplace_back(*entry);
  }
  return env;
}

}  // namespace

Async<std::string> RunCommand(Command command) {
  co_await IgnoreCancellation();
  auto executor = co_await asio::this_coro::executor;
  std::string name = command.argv[0];

  // Start.
  int input = FileOf(command.input);
  if (input < 0) co_return Error::Unavailable(name + ": cannot store its input");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ::close(input);
    co_return Error::Unavailable(name + ": no pipe");
  }
  asio::posix::stream_descriptor output(executor, ends[0]);
  SpawnOptions options{.argv = command.argv,
                       .env = Environment(command),
                       .input = input,
                       .output = ends[1],
                       .new_group = true};
  Result<pid_t> pid = Spawn(options);
  ::close(input);
  ::close(ends[1]);
  if (!pid) co_return pid.error();
  Child child(*pid);

  // On timeout kill the group. Cancel the read too: a process outside the group may hold the pipe.
  bool late = false;
  auto alive = std::make_shared<bool>(true);
  asio::steady_timer timer(executor, command.timeout);
  timer.async_wait([&, alive](boost::system::error_code ec) {
    if (ec || !*alive) return;
    late = true;
    child.Kill();
    boost::system::error_code ignored;
    output.cancel(ignored);
  });
  std::shared_ptr<void> disarm(nullptr, [alive](void*) { *alive = false; });

  // Read.
  std::string text;
  boost::system::error_code end;
  char chunk[4096];
  while (!end && !late) {
    auto read = co_await output.async_read_some(asio::buffer(chunk), kTuple);
    end = std::get<0>(read);
    text.append(chunk, std::get<1>(read));
    if (text.size() > command.max_output) co_return Error::Invalid(name + ": output too large");
  }

  // Wait: the command may close its output before it exits.
  if (!late && end == asio::error::eof) {
    // By system call: the C library declares its wrapper for C only.
    int handle = static_cast<int>(::syscall(SYS_pidfd_open, child.pid(), 0));
    if (handle < 0) co_return Error::Unavailable(name + ": no pidfd");
    asio::posix::stream_descriptor exited(executor, handle);
    auto waited = co_await exited.async_wait(asio::posix::stream_descriptor::wait_read, kTuple);
    end = std::get<0>(waited);
  }
  if (late) co_return Error::DeadlineExceeded(name);
  if (end == asio::error::operation_aborted) co_return Error::Cancelled(name);
  int status = child.Reap();
  if (WIFSIGNALED(status))
    co_return Error::Unavailable(name + ": signal " + std::to_string(WTERMSIG(status)));
  if (WEXITSTATUS(status) != 0)
    co_return Error::Unavailable(name + ": exit code " + std::to_string(WEXITSTATUS(status)));
  co_return text;
}

}  // namespace kube
