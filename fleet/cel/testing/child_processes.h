// SPDX-License-Identifier: Apache-2.0
// Children() and Tracer: processes of a test.
#pragma once

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

namespace fleet::cel {

// The processes that this one has started and not reaped.
inline std::vector<pid_t> Children() {
  std::vector<pid_t> pids;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(thread.path() / "children");
    for (pid_t pid; children >> pid;) pids.push_back(pid);
  }
  return pids;
}

// A child process that traces another one, which cannot be reaped meanwhile: as if the kernel did
// not let it end.
class Tracer {
 public:
  explicit Tracer(pid_t traced) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      char ok = ptrace(PTRACE_SEIZE, traced, nullptr, nullptr) == 0 ? 'y' : 'n';
      (void)!write(ready[1], &ok, 1);
      for (;;) pause();
    }
    close(ready[1]);
    char ok = 'n';
    traces_ = read(ready[0], &ok, 1) == 1 && ok == 'y';
    close(ready[0]);
  }
  ~Tracer() { End(); }
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // False if this machine does not allow it.
  bool traces() const { return traces_; }
  pid_t pid() const { return pid_; }
  void End() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool traces_ = false;
};

}  // namespace fleet::cel
