// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/stage/stage.h"

#include <csignal>
#include <filesystem>

#include "api/names.h"
#include "e2e/cluster_harness/etcd_calls.h"
#include "e2e/cluster_harness/own_network.h"
#include "e2e/framework/resources.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::ObjectKey;
using kube::Ok;
using kube::Result;

namespace {

// Room for five write-ahead logs of 64 MB, and the data.
constexpr uint64_t kEtcdDisk = uint64_t{1} << 30;
constexpr uint64_t kPodsDisk = uint64_t{512} << 20;
// Calls whose answer decides about a fault.
constexpr auto kCallLimit = 3s;

// The Lease of the leader of a program, whose shards have one each.
ObjectKey LeaseOf(const std::string& program, const std::string& ns) {
  if (program == "operator") return {ns, "multiarch-tuning-operator"};
  if (program == "shard") return {ns, std::string(api::kShardControllerName)};
  return {ns, std::string(api::kControllerName)};
}

}  // namespace

Result<std::unique_ptr<Stage>> Stage::Make(const std::string& assets, const std::string& folder) {
  std::unique_ptr<Stage> stage(new Stage());
  Result<> started = stage->Start(assets, folder);
  if (!started) return started.error();
  return stage;
}

Result<> Stage::Start(const std::string& assets, const std::string& folder) {
  folder_ = folder;
  std::error_code ec;
  std::filesystem::remove_all(folder, ec);
  if (!std::filesystem::create_directories(folder, ec))
    return Error::Invalid(folder + ": " + ec.message());
  Result<> entered = EnterOwnNetwork();
  if (entered) entered = EnterOwnMounts();
  if (!entered) return entered.error();

  ControlPlaneOptions options{
      .assets = assets, .folder = folder, .audit = true, .record_writes = true};
  for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m) {
    auto disk = Disk::Mount(folder + "/" + ControlPlane::EtcdName(m), kEtcdDisk);
    if (!disk) return disk.error();
    etcd_disks_.push_back(std::move(*disk));
  }
  auto pods_disk = Disk::Mount(folder + "/pods", kPodsDisk);
  if (!pods_disk) return pods_disk.error();
  pods_disk_ = std::move(*pods_disk);

  auto network = ChaosNetwork::Make();
  if (!network) return network.error();
  network_ = std::move(*network);
  network_->Configure(options);
  auto cluster = ProcessCluster::Start(std::move(options));
  if (!cluster) return cluster.error();
  cluster_ = std::move(*cluster);
  Result<> connected = ConnectDirectly();
  if (!connected) return connected;
  Result<> deployed = cluster_->DeployOperator();
  if (!deployed) return deployed.error().Prefix(cluster_->Describe(cluster_->operator_namespace()));
  return Ok();
}

Result<> Stage::ConnectDirectly() {
  for (size_t i = 0; i < ChaosNetwork::kApiServers; ++i) {
    kube::ClientConfig config = cluster_->connection();
    config.server = "https://" + ChaosNetwork::ApiServerHost(i) + ":" +
                    std::to_string(cluster_->control_plane().port());
    auto client = kube::NewClient(cluster_->io().get_executor(), cluster_->clock(), config,
                                  {.user_agent = "chaos"});
    if (!client) return client.error();
    direct_.push_back(std::move(*client));
  }
  return Ok();
}

Stage::~Stage() {
  if (cluster_ != nullptr) CopyLogs();
  direct_.clear();
  // Before the network and the disks, which its programs use.
  cluster_.reset();
}

void Stage::CopyLogs() {
  std::error_code ec;
  std::filesystem::create_directories(folder_ + "/logs", ec);
  for (const auto& pod : std::filesystem::directory_iterator(folder_ + "/pods", ec)) {
    const std::string name = pod.path().filename();
    std::filesystem::copy_file(pod.path() / "log", folder_ + "/logs/" + name + ".log", ec);
  }
}

std::vector<Stage::Process> Stage::Processes(const std::string& program) {
  std::vector<Process> processes;
  for (PodProcess* process : kubelet().OfProgram(program, "")) {
    Result<pid_t> pid = process->pid();
    if (pid) processes.push_back({program, {process->ns(), process->name()}, *pid});
  }
  return processes;
}

Result<Stage::Process> Stage::Pick(const std::string& program, uint64_t pick) {
  std::vector<Process> processes = Processes(program);
  if (processes.empty()) return Error::NotFound("no process of " + program + " runs");
  return processes[pick % processes.size()];
}

Result<Stage::Process> Stage::PickLeader(const std::string& program, uint64_t pick) {
  Result<Process> any = Pick(program, pick);
  if (!any) return any.error();
  const ObjectKey lease = LeaseOf(program, any->pod.ns);
  kube::ApiRequest request{.target = kLeases.Path(lease.ns, lease.name), .timeout = kCallLimit};
  auto answer = cluster_->Run(cluster_->client().Call(std::move(request)));
  if (!answer) return answer.error().Prefix("Lease " + lease.ToString());
  Result<Json> read = kube::ParseJson(answer->body);
  if (!read) return read.error();
  const std::string holder = kube::StringAt(*read, "spec.holderIdentity");
  for (const Process& process : Processes(program)) {
    if (process.pod == ObjectKey{lease.ns, holder}) return process;
  }
  return Error::NotFound("the leader of " + program + " does not run: " + holder);
}

PodProcess* Stage::Find(const Process& process) {
  PodProcess* found = kubelet().Find(process.pod);
  if (found == nullptr) return nullptr;
  Result<pid_t> pid = found->pid();
  return pid && *pid == process.pid ? found : nullptr;
}

void Stage::Signal(const Process& process, int signal) {
  if (Find(process) != nullptr) kill(process.pid, signal);
}

Result<size_t> Stage::EtcdLeader() {
  for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m) {
    auto status = cluster_->Run(StatusOfEtcd(ChaosNetwork::EtcdHost(m)));
    if (status && status->leads) return m;
  }
  return Error::Unavailable("no member of etcd leads");
}

void Stage::KeepControlPlane() {
  const kube::TimePoint now = cluster_->clock().Now();
  if (now < next_restart_) return;
  next_restart_ = now + 1s;
  for (const std::string& program : plane().Ended()) {
    ++restarts_[program];
    // Fails again until its fault has ended.
    kube::IgnoreError(plane().Restart(program), "the next look finds it");
  }
}

Result<> Stage::AllWork() {
  Result<> running = plane().AllRun();
  if (!running) return running;
  for (size_t m = 0; m < ChaosNetwork::kEtcdMembers; ++m) {
    auto status = cluster_->Run(StatusOfEtcd(ChaosNetwork::EtcdHost(m)));
    if (!status) return status.error();
  }
  for (size_t i = 0; i < ChaosNetwork::kApiServers; ++i) {
    kube::ApiRequest request{.target = "/readyz", .accept = "*/*", .timeout = kCallLimit};
    auto answer = cluster_->Run(direct_[i]->Call(std::move(request)));
    if (!answer) return answer.error().Prefix(ControlPlane::ApiServerName(i));
  }
  for (const char* program : {"operator", "webhook", "shard", "cluster-controller"}) {
    for (PodProcess* process : kubelet().OfProgram(program, "")) {
      if (!process->ready()) return Error::Unavailable(process->name() + " is not ready");
    }
  }
  return Ok();
}

}  // namespace e2e
