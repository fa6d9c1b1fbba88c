// SPDX-License-Identifier: Apache-2.0
#include "kube/client/command.h"

#include <fcntl.h>
#include <spawn.h>
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

extern char** environ;

namespace kube {
namespace {

// A process group of ours; it ends with this object at the latest.
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
  // Kills what still runs, and returns the leader's status, as waitpid gives it.
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

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& text : strings) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A file of this text that lives in memory, read from its beginning; -1 if there can be none.
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

Result<pid_t> Spawn(Command& command, int input, int output) {
  std::vector<std::string> env;
  for (auto& [name, value] : command.env) env.push_back(name + "=" + value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    std::string_view name = std::string_view(*entry).substr(0, std::strcspn(*entry, "="));
    bool replaced = false;
    for (auto& added : command.env) replaced |= added.first == name;
    if (!replaced) env.emplace_back(*entry);
  }
  std::vector<char*> env_pointers = Pointers(env);
  std::vector<char*> argv = Pointers(command.argv);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  int error =
      ::posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), env_pointers.data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return Error::NotFound(std::string(argv[0]) + ": " + std::strerror(error));
  return pid;
}

}  // namespace

Async<std::string> RunCommand(Command command) {
  co_await IgnoreCancellation();
  auto executor = co_await asio::this_coro::executor;
  std::string name = command.argv[0];

  // Start.
  int input = FileOf(command.input);
  if (input < 0) co_return Error::Unavailable(name + ": no memory for its input");
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ::close(input);
    co_return Error::Unavailable(name + ": no pipe");
  }
  asio::posix::stream_descriptor output(executor, ends[0]);
  Result<pid_t> pid = Spawn(command, input, ends[1]);
  ::close(input);
  ::close(ends[1]);
  if (!pid) co_return pid.error();
  Child child(*pid);

  // A timer ends it: that ends the reading as well, if need be by closing the pipe under it.
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
    if (text.size() > command.max_output) co_return Error::Invalid(name + ": printed too much");
  }

  // Wait; it may have closed its output long before its end.
  if (!late && end == asio::error::eof) {
    // By number: the C library declares its wrapper for C alone.
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
