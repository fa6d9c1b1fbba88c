// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "kube/base/spawn.h"

namespace e2e {

using kube::Error;
using kube::Result;

namespace {

// The child inherits PATH, HOME and the options of sanitizers only.
std::vector<std::string> Environment(const ProcessSpec& spec) {
  std::vector<std::string> env;
  for (const char* name : {"PATH", "HOME", "ASAN_OPTIONS", "TSAN_OPTIONS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && !spec.env.contains(name))
      env.push_back(std::string(name) + "=" + value);
  }
  for (const auto& [name, value] : spec.env) env.push_back(name + "=" + value);
  return env;
}

// In the child: dies with its parent, within the limits of `spec`.
bool Prepare(const ProcessSpec& spec, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (!spec.cgroup.empty()) {
    int procs = open(spec.cgroup.c_str(), O_WRONLY | O_CLOEXEC);
    if (write(procs, "0", 1) != 1) return false;
  }
  if (spec.data_bytes > 0) {
    rlimit limit{static_cast<rlim_t>(spec.data_bytes), static_cast<rlim_t>(spec.data_bytes)};
    if (setrlimit(RLIMIT_DATA, &limit) != 0) return false;
  }
  return getppid() == parent;
}

// `output` becomes standard output and error.
Result<pid_t> Spawn(const ProcessSpec& spec, int output) {
  int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
  kube::SpawnOptions options{.argv = {spec.path},
                             .env = Environment(spec),
                             .input = input,
                             .output = output,
                             .error = output,
                             .new_group = true};
  options.argv.insert(options.argv.end(), spec.args.begin(), spec.args.end());
  options.prepare = [&spec, parent = getpid()] { return Prepare(spec, parent); };
  Result<pid_t> pid = kube::Spawn(options);
  close(input);
  return pid;
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ProcessSpec& spec) {
  std::string log = spec.log_file.empty() ? "/dev/null" : spec.log_file;
  int output = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (output < 0) return Error::Unavailable("open " + log + ": " + std::strerror(errno));
  Result<pid_t> pid = Spawn(spec, output);
  close(output);
  if (!pid) return pid.error();
  return std::unique_ptr<ChildProcess>(new ChildProcess(*pid));
}

ChildProcess::~ChildProcess() {
  if (ExitStatus()) return;
  kill(pid_, SIGKILL);
  int wait_status = 0;
  waitpid(pid_, &wait_status, 0);
}

void ChildProcess::Signal(int signal) {
  if (!ExitStatus()) kill(pid_, signal);
}

std::optional<int> ChildProcess::ExitStatus() {
  int wait_status = 0;
  if (!status_ && waitpid(pid_, &wait_status, WNOHANG) == pid_)
    status_ = kube::ExitCode(wait_status);
  return status_;
}

Result<Finished> RunToEnd(const ProcessSpec& spec, std::chrono::milliseconds limit) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return Error::Unavailable(std::string("pipe: ") + std::strerror(errno));
  Result<pid_t> pid = Spawn(spec, ends[1]);
  close(ends[1]);
  if (!pid) {
    close(ends[0]);
    return pid.error();
  }

  // The pipe closes when the program and all its children have ended.
  Finished finished;
  bool late = false;
  auto deadline = std::chrono::steady_clock::now() + limit;
  while (true) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    pollfd readable{ends[0], POLLIN, 0};
    int events = poll(&readable, 1, static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (events < 0 && errno == EINTR) continue;
    late = events == 0;
    if (late) break;
    char buffer[4096];
    ssize_t size = read(ends[0], buffer, sizeof buffer);
    if (size <= 0) break;
    finished.output.append(buffer, size);
  }
  close(ends[0]);
  if (late) kill(-*pid, SIGKILL);
  int wait_status = 0;
  waitpid(*pid, &wait_status, 0);
  finished.status = kube::ExitCode(wait_status);
  if (late)
    return Error::DeadlineExceeded(spec.path + " still runs; its output: " + finished.output);
  return finished;
}

std::string TailOfFile(const std::string& path, size_t bytes) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) return "";
  size_t size = in.tellg();
  size_t from = size > bytes ? size - bytes : 0;
  in.seekg(from);
  std::string text(size - from, '\0');
  in.read(text.data(), text.size());
  return text;
}

}  // namespace e2e
