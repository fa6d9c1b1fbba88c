// SPDX-License-Identifier: Apache-2.0
#include "e2e/soak/faults.h"

#include <csignal>
#include <cstdio>
#include <iterator>
#include <numeric>

#include "api/names.h"
#include "e2e/cluster_harness/etcd_calls.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;

namespace {

constexpr auto kPoll = 100ms;
// Until a killed process, or the API server, works again; on a busy machine.
constexpr auto kRecovers = 180s;
// An API server that takes longer is worth a note.
constexpr auto kReady = 30s;

}  // namespace

const Faults::Fault Faults::kTable[] = {
    // SIGKILL; it is started again as by a kubelet.
    {"kill", 6, &Faults::Kill},
    // SIGSTOP, and SIGCONT after 3 to 20 s: a leader may have lost its Lease by then.
    {"freeze", 6, &Faults::Freeze},
    // The API server is killed, and away for 1 to 5 s.
    {"API server", 2, &Faults::RestartApiServer},
    // The same after a compaction of etcd: no watch can go on where it was.
    {"compaction", 2, &Faults::CompactAndRestart},
    // The registry accepts connections, and answers nothing for 10 to 30 s.
    {"registry", 2, &Faults::FreezeRegistry},
};

Faults::Faults(ProcessCluster& cluster, FleetLoad& fleet, QuietClock& quiet, SoakLog& log,
               Options options)
    : cluster_(cluster),
      fleet_(fleet),
      quiet_(quiet),
      log_(log),
      options_(options),
      random_(options.seed) {}

int Faults::Kills(const std::string& name) const {
  auto kills = kills_.find(name);
  return kills == kills_.end() ? 0 : kills->second;
}

boost::asio::awaitable<void> Faults::Run() {
  co_await kube::IgnoreCancellation();
  if (options_.every == 0ms) co_return;
  kube::TimePoint next = cluster_.clock().Now();
  while (true) {
    // Half of the time is quiet even if faults last long.
    next = std::max(next + options_.every, cluster_.clock().Now() + options_.every / 2);
    Result<> slept = co_await cluster_.clock().SleepUntil(next);
    if (!slept) co_return;
    Result<> injected = co_await InjectOne();
    if (FailedWith(injected, kube::Code::kCancelled)) co_return;
  }
}

const Faults::Fault& Faults::Choose() {
  int sum = std::accumulate(std::begin(kTable), std::end(kTable), 0,
                            [](int weight, const Fault& fault) { return weight + fault.weight; });
  int chosen = Random(0, sum - 1);
  const Fault* fault = std::begin(kTable);
  while (chosen >= fault->weight) chosen -= (fault++)->weight;
  return *fault;
}

Async<> Faults::InjectOne() {
  const Fault& fault = Choose();
  kube::TimePoint begin = cluster_.clock().Now();
  quiet_.BeginFault(begin);
  Result<std::string> target = co_await (this->*fault.inject)();
  kube::TimePoint end = cluster_.clock().Now();
  quiet_.EndFault(end);
  log_.Write("fault", {{"t", log_.Seconds(begin)},
                       {"until", log_.Seconds(end)},
                       {"fault", fault.name},
                       {"target", target ? *target : ""}});
  std::fprintf(stderr, "%7.1f %s %s, %.1f s\n", log_.Seconds(begin), fault.name,
               target ? target->c_str() : "", log_.Seconds(end) - log_.Seconds(begin));
  if (target) co_return Ok();
  if (!FailedWith(target, kube::Code::kCancelled))
    log_.Fail("after the fault '" + std::string(fault.name) + "': " + target.error().ToString());
  co_return target.error();
}

Result<SoakedProcess> Faults::ChooseProcess() {
  std::map<std::string, std::vector<SoakedProcess>> by_program;
  for (SoakedProcess& process : ProcessesOf(cluster_, fleet_))
    by_program[process.program].push_back(std::move(process));
  if (by_program.empty()) return Error::NotFound("no process runs");
  auto program = std::next(by_program.begin(), Random(0, static_cast<int>(by_program.size()) - 1));
  auto& processes = program->second;
  return processes[static_cast<size_t>(Random(0, static_cast<int>(processes.size()) - 1))];
}

Async<std::string> Faults::Kill() {
  Result<SoakedProcess> process = ChooseProcess();
  if (!process) co_return process.error();
  std::string name = process->program + " " + process->name;
  ++kills_[process->name];
  kill(process->pid, SIGKILL);
  kube::TimePoint deadline = cluster_.clock().Now() + kRecovers;
  while (true) {
    Result<> slept = co_await cluster_.clock().Sleep(kPoll);
    if (!slept) co_return slept.error();
    auto now = FindProcess(cluster_, fleet_, process->name);
    if (now && now->pid != process->pid && now->ready) co_return name;
    // The pod was deleted at the same time, as after a change of its Deployment.
    if (!now && process->name.find('/') != std::string::npos) {
      size_t slash = process->name.find('/');
      kube::ObjectKey pod{process->name.substr(0, slash), process->name.substr(slash + 1)};
      if (cluster_.kubelet().Find(pod) == nullptr) co_return name;
    }
    if (cluster_.clock().Now() > deadline)
      co_return Error::DeadlineExceeded(name + " is not ready again");
  }
}

Async<std::string> Faults::Freeze() {
  Result<SoakedProcess> process = ChooseProcess();
  if (!process) co_return process.error();
  kill(process->pid, SIGSTOP);
  frozen_ = process->pid;
  Result<> slept = co_await cluster_.clock().Sleep(std::chrono::seconds(Random(3, 20)));
  frozen_ = 0;
  // Another process may have the number if the pod was deleted.
  auto now = FindProcess(cluster_, fleet_, process->name);
  if (now && now->pid == process->pid) kill(process->pid, SIGCONT);
  if (!slept) co_return slept.error();
  co_return process->program + " " + process->name;
}

Async<std::string> Faults::AwaitApiServer() {
  kube::TimePoint start = cluster_.clock().Now();
  std::string error;
  while (true) {
    kube::ApiRequest request;
    request.target = kClusterConfigs.Path("", api::kClusterConfigName);
    request.timeout = 2s;
    auto answer = co_await cluster_.client().Call(std::move(request));
    kube::Duration took = cluster_.clock().Now() - start;
    if (answer) co_return took > kReady ? ", then for long: " + error : "";
    error = answer.error().ToString();
    if (took > kRecovers)
      co_return answer.error().Prefix("the API server does not serve the kinds of the operator");
    Result<> slept = co_await cluster_.clock().Sleep(kPoll);
    if (!slept) co_return slept.error();
  }
}

Async<std::string> Faults::RestartApiServer() {
  Result<> killed = cluster_.control_plane().KillApiServer();
  if (!killed) co_return killed.error();
  std::chrono::seconds away(Random(1, 5));
  Result<> slept = co_await cluster_.clock().Sleep(away);
  Result<> started = cluster_.control_plane().StartApiServer();
  if (!started) co_return started.error();
  if (!slept) co_return slept.error();
  Result<std::string> ready = co_await AwaitApiServer();
  if (!ready) co_return ready.error();
  co_return "away for " + std::to_string(away.count()) + " s" + *ready;
}

Async<std::string> Faults::CompactAndRestart() {
  const std::string etcd = cluster_.control_plane().host();
  Result<EtcdStatus> status = co_await StatusOfEtcd(etcd);
  if (!status) co_return status.error();
  Result<> compacted = co_await CompactEtcd(etcd, status->revision);
  if (!compacted) co_return compacted.error();
  Result<std::string> restarted = co_await RestartApiServer();
  co_return restarted;
}

Async<std::string> Faults::FreezeRegistry() {
  std::chrono::seconds time(Random(10, 30));
  cluster_.test_registry().Freeze();
  Result<> slept = co_await cluster_.clock().Sleep(time);
  cluster_.test_registry().Thaw();
  if (!slept) co_return slept.error();
  co_return "silent for " + std::to_string(time.count()) + " s";
}

}  // namespace e2e
