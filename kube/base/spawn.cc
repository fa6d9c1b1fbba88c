// SPDX-License-Identifier: Apache-2.0
#include "kube/base/spawn.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

extern char** environ;

namespace kube {
namespace {

// What the child reports through a pipe; nothing if the program was executed.
struct Failure {
  bool prepared = false;
  int error = 0;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

bool SetStream(int descriptor, int stream) {
  if (descriptor < 0) return true;
  if (descriptor == stream) return ::fcntl(stream, F_SETFD, 0) == 0;
  return ::dup2(descriptor, stream) == stream;
}

// In the child: only async-signal-safe functions.
[[noreturn]] void Execute(const SpawnOptions& options, char* const* argv, char* const* env,
                          int report) {
  Failure failure;
  failure.prepared =
      (!options.prepare || options.prepare()) && (!options.new_group || ::setpgid(0, 0) == 0) &&
      SetStream(options.input, STDIN_FILENO) && SetStream(options.output, STDOUT_FILENO) &&
      SetStream(options.error, STDERR_FILENO);
  if (failure.prepared) {
    // Boost.Asio opens sockets without O_CLOEXEC. A kernel without this call leaves them open.
    ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
    ::signal(SIGPIPE, SIG_DFL);
    ::execvpe(argv[0], argv, env);
  }
  failure.error = errno;
  ssize_t written = ::write(report, &failure, sizeof failure);
  (void)written;
  ::_exit(127);
}

}  // namespace

Result<pid_t> Spawn(const SpawnOptions& options) {
  const std::string& name = options.argv.at(0);
  std::vector<char*> argv = Pointers(options.argv);
  std::vector<char*> env;
  if (options.env) env = Pointers(*options.env);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    return Error::Unavailable(name + ": pipe: " + std::strerror(errno));

  pid_t pid = ::fork();
  if (pid == 0) Execute(options, argv.data(), options.env ? env.data() : environ, report[1]);
  int fork_error = errno;
  ::close(report[1]);
  Failure failure;
  ssize_t size = 0;
  while (pid > 0 && (size = ::read(report[0], &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  ::close(report[0]);
  if (pid < 0) return Error::Unavailable(name + ": fork: " + std::strerror(fork_error));
  if (size == 0) return pid;
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  std::string message = name + ": " + std::strerror(failure.error);
  return failure.prepared ? Error::NotFound(message) : Error::Unavailable(message);
}

int ExitCode(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace kube
