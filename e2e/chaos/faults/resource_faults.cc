// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "e2e/chaos/faults/faults.h"
#include "e2e/cluster_harness/child_process.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Result;

namespace {

constexpr char kStartsAgain[] = "it starts again, and continues from what is stored";

// The programs of the operator, by pick: each fault here takes one process of one of them.
std::string ProgramOf(uint64_t pick) {
  constexpr const char* kPrograms[] = {"cluster-controller", "shard", "operator", "webhook"};
  return kPrograms[pick % 4];
}

// Other processes in the pod's cgroup take what is left of its memory. The kernel kills the one
// that has the highest score: the operator's.
Result<EndFault> OutOfMemory(Stage& stage, uint64_t pick) {
  Result<Stage::Process> process = stage.Pick(ProgramOf(pick), pick / 4);
  if (!process) return process.error();
  PodProcess* pod = stage.Find(*process);
  if (pod == nullptr || pod->cgroup().empty())
    return Error::PermissionDenied("this machine has no memory cgroups for tests");
  std::ofstream("/proc/" + std::to_string(process->pid) + "/oom_score_adj") << 1000;
  const std::string bytes = std::to_string(pod->memory_limit() - (int64_t{1} << 20));
  auto hog = ChildProcess::Start(
      {.path = "sh",
       .args = {"-c", "head -c " + bytes + " /dev/zero | tail -c " + bytes + " | sleep 60"},
       .cgroup = pod->cgroup()});
  if (!hog) return hog.error();
  EndFault end = [hog = std::shared_ptr(std::move(*hog))](Stage&) {
    // Its children are of the same group.
    kill(-hog->pid(), SIGKILL);
  };
  for (int wait = 0; wait < 200 && stage.Find(*process) != nullptr; ++wait)
    stage.cluster().Pause(50ms);
  if (stage.Find(*process) == nullptr) return end;
  end(stage);
  return Error::Unavailable("the kernel has not killed " + process->pod.ToString());
}

Result<int> OpenDescriptors(pid_t pid) {
  std::error_code ec;
  std::filesystem::directory_iterator files("/proc/" + std::to_string(pid) + "/fd", ec);
  if (ec) return Error::NotFound(ec.message());
  int open = 0;
  for (const auto& file : files) open += file.path().empty() ? 0 : 1;
  return open;
}

// No more descriptors than it has: neither connections nor files.
Result<EndFault> FewDescriptors(Stage& stage, uint64_t pick) {
  Result<Stage::Process> process = stage.Pick(ProgramOf(pick), pick / 4);
  if (!process) return process.error();
  Result<int> open = OpenDescriptors(process->pid);
  if (!open) return open.error();
  rlimit before{};
  if (prlimit(process->pid, RLIMIT_NOFILE, nullptr, &before) != 0)
    return Error::PermissionDenied(std::string("prlimit: ") + std::strerror(errno));
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(*open);
  if (prlimit(process->pid, RLIMIT_NOFILE, &few, nullptr) != 0)
    return Error::PermissionDenied(std::string("prlimit: ") + std::strerror(errno));
  return EndFault([process = *process, before](Stage& ended) {
    if (ended.Find(process) != nullptr) prlimit(process.pid, RLIMIT_NOFILE, &before, nullptr);
  });
}

Result<EndFault> FillPodsDisk(Stage& stage, uint64_t) {
  Result<> filled = stage.pods_disk().Fill();
  if (!filled) return filled.error();
  return EndFault([](Stage& ended) { ended.pods_disk().Release(); });
}

// NAME=VALUE of a process, each ended by a zero byte.
std::string ReadEnvironment(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// "" if Debian's libfaketime is not installed.
std::string FakeTimeLibrary() {
  std::error_code ec;
  for (const auto& folder : std::filesystem::directory_iterator("/usr/lib", ec)) {
    std::string library = folder.path().string() + "/faketime/libfaketime.so.1";
    if (std::filesystem::exists(library, ec)) return library;
  }
  return "";
}

// A time namespace would move the monotonic clock, which is right on every machine; the time of day
// is what differs.
Result<EndFault> WrongClock(Stage& stage, uint64_t pick) {
  const std::string program = ProgramOf(pick);
  const std::string library = FakeTimeLibrary();
  if (library.empty()) return Error::NotFound("libfaketime is not installed");
  Result<Stage::Process> process = stage.Pick(program, pick / 4);
  if (!process) return process.error();
  constexpr const char* kOffsets[] = {"-300s", "+300s", "-45s", "+45s"};
  stage.kubelet().SetEnvironment(program, {{"LD_PRELOAD", library},
                                           {"FAKETIME", kOffsets[pick / 16 % 4]},
                                           {"FAKETIME_DONT_FAKE_MONOTONIC", "1"}});
  stage.Signal(*process, SIGKILL);
  return EndFault([program](Stage& ended) {
    ended.kubelet().SetEnvironment(program, {});
    // Those that have started in the meantime.
    for (const Stage::Process& wrong : ended.Processes(program)) {
      const std::string variables = ReadEnvironment(wrong.pid);
      if (variables.find("FAKETIME=") != std::string::npos) ended.Signal(wrong, SIGKILL);
    }
  });
}

}  // namespace

std::vector<FaultKind> ResourceFaults() {
  return {
      {{"out of memory", "memory", 2s, 5s},
       "a process of the operator is killed in its memory cgroup",
       kStartsAgain,
       OutOfMemory},
      {{"no descriptors", "descriptors", 5s, 15s},
       "RLIMIT_NOFILE of a process of the operator is what it has open",
       "it goes on with its connections, and opens new ones later",
       FewDescriptors},
      {{"disk full", kDiskArea, 5s, 15s},
       "the tmpfs with logs and volumes of the operator's pods is full",
       "they go on without logs",
       FillPodsDisk},
      {{"wrong clock", "clock", 10s, 25s},
       "a process of the operator starts with a time of day that is 45 or 300 s off",
       "Leases, announcements and certificates do not depend on it",
       WrongClock},
  };
}

}  // namespace e2e
