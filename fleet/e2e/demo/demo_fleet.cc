// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/demo/demo_fleet.h"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <optional>
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
#include "kube/codec/content_type.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

namespace {

// Paths in the runfiles, which are the working directory.
constexpr char kHubProgram[] = "fleet/hub/hub";
constexpr char kAgentProgram[] = "fleet/agent/agent";
constexpr char kHubCrds[] = "fleet/api/crds";
constexpr char kMemberCrds[] = "api/crds";

constexpr std::chrono::milliseconds kPoll{20};
constexpr int kTokenSeconds = 3600;

Json NewNamespace(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
}

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
    : options_(std::move(options)), out_(out), signals_(io_, SIGINT, SIGTERM) {
  signals_.async_wait([this](const boost::system::error_code& ec, int signal) {
    if (!ec) signal_ = signal;
  });
  hub_.name = "hub";
  for (const std::string& name : options_.members) {
    members_.push_back(std::make_unique<Cluster>());
    members_.back()->name = name;
  }
}

DemoFleet::~DemoFleet() {
  // What the end of the programs causes is not part of the demo.
  quiet_ = true;
  for (Cluster* cluster : All()) cluster->program.reset();
  for (Cluster* cluster : All()) {
    if (cluster->operator_stand_in) {
      kube::IgnoreError(cluster->api->Run(cluster->operator_stand_in->Stop()), "the demo ends");
    }
  }
}

std::vector<DemoFleet::Cluster*> DemoFleet::All() {
  std::vector<Cluster*> all{&hub_};
  for (const auto& member : members_) all.push_back(member.get());
  return all;
}

DemoFleet::Cluster& DemoFleet::Of(const std::string& member) {
  auto found = std::find_if(members_.begin(), members_.end(),
                            [&member](const auto& cluster) { return cluster->name == member; });
  CHECK(found != members_.end()) << "the fleet has no member " << member;
  return **found;
}

Result<> DemoFleet::StartControlPlanes() {
  int number = 0;
  for (Cluster* cluster : All()) {
    Result<> started = StartPlane(*cluster, ++number);
    if (!started) return started.error().Prefix("control plane of " + cluster->name);
  }
  for (Cluster* cluster : All()) {
    const bool hub = cluster == &hub_;
    Result<> serves = hub ? Serve(*cluster, kHubCrds,
                                  {fleet::kManagedClusters, kServiceAccounts,
                                   fleet::kAddOnPlacementScores, fleet::kPlacementDecisions,
                                   kEvents, fleet::kFleetPodPlacements, fleet::kPodPlacementWorks})
                          : Serve(*cluster, kMemberCrds, {kNodes, kClusterConfigs, kConfigs});
    if (!serves) return serves.error().Prefix(cluster->name);
  }
  return Ok();
}

Result<> DemoFleet::StartPlane(Cluster& cluster, int number) {
  std::error_code ec;
  std::filesystem::create_directories(FolderOf(cluster), ec);
  if (ec) return Error::Unavailable("create " + FolderOf(cluster) + ": " + ec.message());
  ControlPlaneOptions options{.assets = options_.assets,
                              .folder = FolderOf(cluster),
                              .address = "127.0.0." + std::to_string(number),
                              .etcd_of = hub_.plane.get(),
                              .only_api_server = true};
  auto plane = ControlPlane::Start(std::move(options));
  if (!plane) return plane.error();
  cluster.plane = std::move(*plane);

  auto on_change = [this, &cluster](const kube::Resource& resource, const Json& before,
                                    const Json& after) {
    OnChange(cluster, resource, before, after);
  };
  auto api = WatchedApi::Open(io_, cluster.plane->admin_kubeconfig(), on_change);
  if (!api) return api.error();
  cluster.api = std::move(*api);
  if (&cluster != &hub_) {
    cluster.operator_stand_in =
        std::make_unique<OperatorStandIn>(cluster.api->client(), io_.get_executor());
  }
  return Ok();
}

Result<> DemoFleet::Serve(Cluster& cluster, const std::string& crds,
                          const std::vector<kube::Resource>& followed) {
  auto answers = [&cluster] {
    kube::ApiRequest request{.target = "/readyz", .accept = "*/*", .timeout = 2s};
    return cluster.api->Run(cluster.api->client().Call(std::move(request))).has_value();
  };
  Result<> ready =
      Await("API server of " + cluster.name + " answers at " + cluster.plane->url(), answers);
  if (!ready) return ready;
  for (const auto& file : std::filesystem::directory_iterator(crds)) {
    if (file.path().filename() == "kustomization.yaml") continue;
    Result<> applied = cluster.api->ApplyFile(file.path());
    if (!applied) return applied;
  }
  for (const kube::Resource& resource : followed) cluster.api->Follow(resource);
  // A kind can be listed when its CRD is established.
  Result<> synced = Await("the kinds of " + cluster.name + " are served",
                          [&cluster] { return cluster.api->synced(); });
  if (!synced) return synced;
  return cluster.api->Create(kNamespaces, NewNamespace(kFleetNamespace));
}

Result<> DemoFleet::StartHub() {
  return StartProgram(
      hub_, kHubProgram,
      {"--kubeconfig=" + hub_.plane->admin_kubeconfig(), "--membership=own", "--placements=all"});
}

Result<> DemoFleet::StartAgent(const std::string& member) {
  Cluster& cluster = Of(member);
  Result<std::string> hub_kubeconfig = HubKubeconfigFor(cluster);
  if (!hub_kubeconfig) return hub_kubeconfig.error().Prefix("token of the agent of " + member);
  return StartProgram(cluster, kAgentProgram,
                      {"--cluster=" + member, "--hub-kubeconfig=" + *hub_kubeconfig,
                       "--kubeconfig=" + cluster.plane->admin_kubeconfig()});
}

Result<> DemoFleet::StartProgram(Cluster& cluster, const std::string& path,
                                 std::vector<std::string> args) {
  args.push_back(std::string("--namespace=") + kFleetNamespace);
  args.push_back("--health-address=" + cluster.plane->host() + ":8080");
  auto program = ChildProcess::Start(
      {.path = path, .args = std::move(args), .log_file = FolderOf(cluster) + "/program.log"});
  if (!program) return program.error().Prefix("start " + path);
  cluster.program = std::move(*program);
  return Ok();
}

Result<std::string> DemoFleet::HubKubeconfigFor(const Cluster& member) {
  Json wanted = {{"apiVersion", "authentication.k8s.io/v1"},
                 {"kind", "TokenRequest"},
                 {"spec", {{"expirationSeconds", kTokenSeconds}}}};
  kube::ApiRequest request{
      .method = kube::Method::kPost,
      .target = kServiceAccounts.Path(member.name, fleet::kAgentAccess, "token"),
      .content_type = std::string(kube::kJson),
      .body = kube::DumpJson(wanted)};
  auto answer = hub().Run(hub().client().Call(std::move(request)));
  if (!answer) return answer.error();
  Result<Json> token = kube::ParseJson(answer->body);
  if (!token) return token.error();
  std::string token_file = FolderOf(member) + "/hub.token";
  std::string kubeconfig = FolderOf(member) + "/hub.kubeconfig";
  Result<> written = WriteFile(token_file, kube::StringAt(*token, "status.token"));
  if (written) written = hub_.plane->WriteKubeconfig(kubeconfig, token_file);
  if (!written) return written.error();
  return kubeconfig;
}

void DemoFleet::OnChange(Cluster& cluster, const kube::Resource& resource, const Json& before,
                         const Json& after) {
  if (quiet_) return;
  for (const std::string& step : FleetSteps(resource, before, after)) Say(cluster.name, step);
  if (cluster.operator_stand_in) cluster.operator_stand_in->OnObject(resource, after);
  if (&cluster == &hub_ && hub_check_) hub_check_();
}

Result<> DemoFleet::Await(const std::string& what, const std::function<bool()>& holds) {
  auto start = std::chrono::steady_clock::now();
  while (!holds()) {
    if (signal_ != 0) return Error::Cancelled("interrupted while waiting for: " + what);
    Result<> running = AllRun();
    if (!running) return running.error().Prefix("while waiting for: " + what);
    if (std::chrono::steady_clock::now() > start + options_.timeout)
      return Error::DeadlineExceeded("timed out waiting for: " + what);
    io_.run_for(kPoll);
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
    io_.run_for(kPoll);
  }
  return Ok();
}

std::vector<std::string> DemoFleet::KubectlCommands() {
  std::string enter = "nsenter --target=" + std::to_string(getpid()) + " --net ";
  if (HasOwnUserNamespace()) enter += "--user --preserve-credentials ";
  std::vector<std::string> commands;
  for (Cluster* cluster : All()) {
    commands.push_back(enter + options_.assets +
                       "/kubectl --kubeconfig=" + cluster->plane->admin_kubeconfig());
  }
  return commands;
}

void DemoFleet::Say(const std::string& where, const std::string& text) {
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
  out_ << "  +" << std::fixed << std::setprecision(1) << std::setw(5) << std::right << time.count()
       << "s  " << std::left << std::setw(6) << where << text << std::endl;
}

Result<> DemoFleet::AllRun() {
  for (Cluster* cluster : All()) {
    Result<> running = cluster->plane ? cluster->plane->AllRun() : Ok();
    if (!running) return running.error().Prefix(cluster->name);
    if (!cluster->program) continue;
    std::optional<int> status = cluster->program->ExitStatus();
    if (!status) continue;
    std::string program = cluster == &hub_ ? "the hub" : "the agent of " + cluster->name;
    return Error::Unavailable(program + " ended with status " + std::to_string(*status));
  }
  return Ok();
}

std::string DemoFleet::Logs() const {
  std::string logs;
  auto add = [this, &logs](const std::string& program, const Cluster& cluster) {
    std::string log = TailOfFile(FolderOf(cluster) + "/program.log");
    if (!log.empty()) logs += "\n" + program + ":\n" + log;
  };
  add("hub", hub_);
  for (const auto& member : members_) add("agent of " + member->name, *member);
  return logs;
}

}  // namespace e2e
