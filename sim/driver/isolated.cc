// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/isolated.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "sim/driver/run.h"

namespace sim {
namespace {

void WriteAll(int file, const std::string& text) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t now = write(file, text.data() + written, text.size() - written);
    if (now <= 0) return;
    written += static_cast<size_t>(now);
  }
}

std::string ReadAll(int file) {
  std::string text;
  char buffer[65536];
  while (true) {
    const ssize_t now = read(file, buffer, sizeof(buffer));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) return text;
    text.append(buffer, static_cast<size_t>(now));
  }
}

}  // namespace

Isolated::Isolated(const Plan& plan) {
  int ends[2];
  PCHECK(pipe2(ends, O_CLOEXEC) == 0);
  child_ = fork();
  PCHECK(child_ >= 0);
  if (child_ == 0) {
    alarm(kLongest.count());
    WriteAll(ends[1], kube::DumpJson(OutcomeToJson(Play(plan))));
    _exit(0);
  }
  close(ends[1]);
  output_ = ends[0];
}

Isolated::~Isolated() {
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  close(output_);
}

Outcome Isolated::Wait() {
  const std::string text = ReadAll(output_);
  int status = 0;
  PCHECK(waitpid(child_, &status, 0) == child_);
  child_ = 0;
  kube::Result<kube::Json> json = kube::ParseJson(text);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && json) return OutcomeFromJson(*json);
  Outcome outcome;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    outcome.violations.push_back({"time", "run", "did not end within its time", 0, {}});
  } else {
    const int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    outcome.violations.push_back({"crash",
                                  "run",
                                  std::string(WIFSIGNALED(status) ? "signal " : "exit code ") +
                                      std::to_string(number) + ": see the log",
                                  0,
                                  {}});
  }
  return outcome;
}

Outcome PlayIsolated(const Plan& plan) { return Isolated(plan).Wait(); }

}  // namespace sim
