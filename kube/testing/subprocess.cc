// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "kube/base/spawn.h"

namespace kube {
namespace {

constexpr int kPatienceMilliseconds = 60'000;

}  // namespace

Subprocess::Subprocess(const std::string& program, std::vector<std::string> arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) ADD_FAILURE() << "pipe2 failed";
  pipe_ = ends[0];

  arguments.insert(arguments.begin(), program);
  Result<pid_t> pid = Spawn({.argv = std::move(arguments), .output = ends[1], .error = ends[1]});
  if (!pid) ADD_FAILURE() << pid.error();
  pid_ = pid ? *pid : -1;
  close(ends[1]);
}

Subprocess::~Subprocess() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(pipe_);
}

void Subprocess::Signal(int signal) {
  if (pid_ > 0) kill(pid_, signal);
}

bool Subprocess::ReadSome() {
  pollfd readable{pipe_, POLLIN, 0};
  if (poll(&readable, 1, kPatienceMilliseconds) <= 0) return false;
  char chunk[4096];
  ssize_t size = read(pipe_, chunk, sizeof chunk);
  if (size <= 0) return false;
  output_.append(chunk, size);
  return true;
}

bool Subprocess::WaitForOutput(const std::string& text) {
  while (output_.find(text) == std::string::npos) {
    if (!ReadSome()) return false;
  }
  return true;
}

int Subprocess::Wait() {
  if (pid_ <= 0) return -1;
  while (ReadSome()) {
  }
  // The pipe is closed, or the process hangs.
  pollfd closed{pipe_, POLLIN, 0};
  if (poll(&closed, 1, 0) == 0) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return ExitCode(status);
}

}  // namespace kube
