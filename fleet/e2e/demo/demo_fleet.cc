// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/demo/demo_fleet.h"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <sstream>
#include <system_error>
#include <utility>

#include "e2e/framework/resources.h"
#include "fleet/api/add_on_placement_score.h"
#include "fleet/api/fleet_pod_placement.h"
#include "fleet/api/managed_cluster.h"
#include "fleet/api/placement_decision.h"
#include "fleet/api/pod_placement_work.h"
#include "fleet/e2e/demo/fleet_story.h"
#include "fleet/standalone/access/agent_access.h"
#include "fleet/testing/make_object.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

namespace {

// Paths in the runfiles, which are the working directory.
constexpr char kHubCrds[] = "fleet/api/crds";
constexpr char kMemberCrds[] = "api/crds";

constexpr std::chrono::milliseconds kPoll{20};

// Whether EnterOwnNetwork() needed one.
bool HasOwnUserNamespace() {
  std::error_code ec;
  auto own = std::filesystem::read_symlink("/proc/self/ns/user", ec);
  auto of_parent =
      std::filesystem::read_symlink("/proc/" + std::to_string(getppid()) + "/ns/user", ec);
  return own != of_parent;
}

}  // namespace

DemoFleet::DemoFleet(Options options, std::ostream& out)
    : options_(std::move(options)), out_(out), signals_(*io_, SIGINT, SIGTERM) {
  signals_.async_wait([this](const boost::system::error_code& ec, int signal) {
    if (!ec) signal_ = signal;
  });
  hub_.name = "hub";
  for (const std::string& name : options_.members) {
    members_.push_back(std::make_unique<Watched>());
    members_.back()->name = name;
  }
}

DemoFleet::~DemoFleet() {
  // What the end of the programs causes is not part of the demo.
  quiet_ = true;
  for (Watched* watched : All()) watched->cluster->KillProgram(watched == &hub_ ? "hub" : "agent");
  for (Watched* watched : All()) {
    if (watched->operator_stand_in) {
      kube::IgnoreError(watched->cluster->Run(watched->operator_stand_in->Stop()), "the demo ends");
    }
  }
}

std::vector<DemoFleet::Watched*> DemoFleet::All() {
  std::vector<Watched*> all{&hub_};
  for (const auto& member : members_) all.push_back(member.get());
  std::erase_if(all, [](const Watched* watched) { return watched->cluster == nullptr; });
  return all;
}

DemoFleet::Watched& DemoFleet::Of(const std::string& member) {
  auto found = std::find_if(members_.begin(), members_.end(),
                            [&member](const auto& watched) { return watched->name == member; });
  CHECK(found != members_.end()) << "the fleet has no member " << member;
  return **found;
}

Result<> DemoFleet::StartControlPlanes() {
  int number = 0;
  Result<> started = Launch(hub_, ++number);
  for (size_t i = 0; started && i < members_.size(); ++i) started = Launch(*members_[i], ++number);
  if (!started) return started;
  Result<> serves = Serve(
      hub_, kHubCrds,
      {fleet::kManagedClusters, kServiceAccounts, fleet::kAddOnPlacementScores,
       fleet::kPlacementDecisions, kEvents, fleet::kFleetPodPlacements, fleet::kPodPlacementWorks});
  for (size_t i = 0; serves && i < members_.size(); ++i)
    serves = Serve(*members_[i], kMemberCrds, {kNodes, kClusterConfigs, kConfigs});
  return serves;
}

Result<> DemoFleet::Launch(Watched& watched, int number) {
  auto cluster =
      FleetCluster::Launch({.assets = options_.assets,
                            .folder = options_.folder + "/" + watched.name,
                            .address = "127.0.0." + std::to_string(number),
                            .etcd_of = hub_.cluster == nullptr ? nullptr : &hub_.cluster->plane(),
                            .only_api_server = true},
                           io_);
  if (!cluster) return cluster.error().Prefix("control plane of " + watched.name);
  watched.cluster = std::move(*cluster);
  watched.api = std::make_unique<WatchedApi>(
      *watched.cluster,
      [this, &watched](const kube::Resource& resource, const Json& before, const Json& after) {
        OnChange(watched, resource, before, after);
      });
  if (&watched != &hub_) {
    watched.operator_stand_in =
        std::make_unique<OperatorStandIn>(watched.cluster->client(), io_->get_executor());
  }
  return Ok();
}

Result<> DemoFleet::Serve(Watched& watched, const std::string& crds,
                          const std::vector<kube::Resource>& followed) {
  auto wait = [this, &watched](const std::string& what, const FleetCluster::Holds& holds) {
    return Await(watched.name + ": " + what, holds);
  };
  Result<> serves = watched.cluster->Serve({crds}, wait);
  if (!serves) return serves.error().Prefix(watched.name);
  for (const kube::Resource& resource : followed) watched.api->Follow(resource);
  return watched.cluster->Create(kNamespaces, fleet::MakeNamespace(FleetCluster::kNamespace));
}

Result<> DemoFleet::StartHub() {
  return hub().StartHub(hub().plane().admin_kubeconfig(), FleetCluster::kNamespace,
                        {"--membership=own", "--placements=all"});
}

Result<> DemoFleet::StartAgent(const std::string& name) {
  auto hub_kubeconfig = hub().KubeconfigOf(std::string(fleet::kAgentAccess), name);
  if (!hub_kubeconfig) return hub_kubeconfig.error();
  return member(name).StartAgent(name, *hub_kubeconfig, member(name).plane().admin_kubeconfig(),
                                 FleetCluster::kNamespace);
}

void DemoFleet::OnChange(Watched& watched, const kube::Resource& resource, const Json& before,
                         const Json& after) {
  if (quiet_) return;
  for (const std::string& step : FleetSteps(resource, before, after)) Say(watched.name, step);
  if (watched.operator_stand_in) watched.operator_stand_in->OnObject(resource, after);
  if (&watched == &hub_ && hub_check_) hub_check_();
}

Result<> DemoFleet::Await(const std::string& what, const std::function<bool()>& holds) {
  auto start = std::chrono::steady_clock::now();
  while (!holds()) {
    if (signal_ != 0) return Error::Cancelled("interrupted while waiting for: " + what);
    Result<> running = AllRun();
    if (!running) return running.error().Prefix("while waiting for: " + what);
    if (std::chrono::steady_clock::now() > start + options_.timeout)
      return Error::DeadlineExceeded("timed out waiting for: " + what);
    io_->run_for(kPoll);
  }
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::ostringstream text;
  text << what << " (after " << std::fixed << std::setprecision(1) << took.count() << " s)";
  Say("", text.str());
  return Ok();
}

Result<> DemoFleet::AwaitSignal() {
  while (signal_ == 0) {
    Result<> running = AllRun();
    if (!running) return running;
    io_->run_for(kPoll);
  }
  return Ok();
}

std::vector<std::string> DemoFleet::KubectlCommands() {
  std::string enter = "nsenter --target=" + std::to_string(getpid()) + " --net ";
  if (HasOwnUserNamespace()) enter += "--user --preserve-credentials ";
  std::vector<std::string> commands;
  for (Watched* watched : All()) {
    commands.push_back(enter + options_.assets +
                       "/kubectl --kubeconfig=" + watched->cluster->plane().admin_kubeconfig());
  }
  return commands;
}

void DemoFleet::Say(const std::string& where, const std::string& text) {
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
  out_ << "  +" << std::fixed << std::setprecision(1) << std::setw(5) << std::right << time.count()
       << "s  " << std::left << std::setw(6) << where << text << std::endl;
}

Result<> DemoFleet::AllRun() {
  for (Watched* watched : All()) {
    Result<> running = watched->cluster->AllRun();
    if (!running) return running.error().Prefix(watched->name);
  }
  return Ok();
}

std::string DemoFleet::Logs() {
  std::string logs;
  for (Watched* watched : All()) logs += "\n" + watched->name + ":" + watched->cluster->Logs();
  return logs;
}

}  // namespace e2e
