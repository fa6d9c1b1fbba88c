// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/fleet_cluster.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "e2e/cluster_harness/own_network.h"

namespace e2e {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string ControlPlaneAssets() { return Variable("KUBEBUILDER_ASSETS"); }

bool FleetCluster::StartCluster(const std::vector<std::string>& crds) {
  folder_ = Variable("TEST_TMPDIR") + "/hub";
  std::filesystem::create_directories(folder_);
  kube::Result<> network = EnterOwnNetwork();
  EXPECT_TRUE(network) << network.error();
  if (!network) return false;
  auto plane = ControlPlane::Start({.assets = ControlPlaneAssets(), .folder = folder_});
  EXPECT_TRUE(plane) << plane.error();
  if (!plane) return false;
  plane_ = std::move(*plane);
  if (!AwaitReady()) return false;
  for (const std::string& folder : crds) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      if (file.path().filename() != "kustomization.yaml") Kubectl("create --filename", file.path());
    }
  }
  return TryKubectl("wait --for=condition=Established customresourcedefinitions --all").status == 0;
}

bool FleetCluster::AwaitReady() {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (std::chrono::steady_clock::now() < deadline) {
    if (TryKubectl("get namespace default").status == 0) return true;
    kube::Result<> run = plane_->AllRun();
    EXPECT_TRUE(run) << run.error();
    if (!run) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  ADD_FAILURE() << "the API server has not created the namespace default within 120 s";
  return false;
}

Finished FleetCluster::TryKubectl(const std::string& command, const std::string& last) {
  std::vector<std::string> args = {"--kubeconfig=" + plane_->admin_kubeconfig()};
  for (size_t begin = 0; begin < command.size();) {
    size_t end = std::min(command.find(' ', begin), command.size());
    args.push_back(command.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!last.empty()) args.push_back(last);
  auto finished = RunToEnd({.path = ControlPlaneAssets() + "/kubectl", .args = std::move(args)},
                           std::chrono::seconds(100));
  EXPECT_TRUE(finished) << finished.error() << Logs();
  return finished ? *finished : Finished{.status = 1};
}

std::string FleetCluster::Kubectl(const std::string& command, const std::string& last) {
  Finished finished = TryKubectl(command, last);
  EXPECT_EQ(finished.status, 0) << command << " " << last << "\n" << finished.output << Logs();
  return finished.status == 0 ? finished.output : "";
}

std::string FleetCluster::Field(const std::string& object, const std::string& path) {
  return Kubectl("get " + object + " --output", "jsonpath={" + path + "}");
}

void FleetCluster::SetAvailable(const std::string& object) {
  Kubectl("patch " + object + " --subresource=status --type=merge --patch",
          R"({"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Test",
              "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})");
}

void FleetCluster::Await(const std::string& object, const std::string& path,
                         const std::string& value) {
  Kubectl("wait --timeout=60s " + object, "--for=jsonpath={" + path + "}=" + value);
}

void FleetCluster::AwaitChange(const std::string& object, const std::string& path,
                               const std::string& before) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (Field(object, path) == before) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << object << " " << path << Logs();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

std::string FleetCluster::File(const std::string& name, const std::string& text) {
  std::string path = folder_ + "/" + name;
  kube::Result<> written = WriteFile(path, text);
  EXPECT_TRUE(written) << written.error();
  return path;
}

std::string FleetCluster::KubeconfigOf(const std::string& account, const std::string& ns) {
  std::string token =
      File(account + ".token", Kubectl("create token " + account + " --namespace=" + ns));
  std::string path = folder_ + "/" + account + ".kubeconfig";
  kube::Result<> written = plane_->WriteKubeconfig(path, token);
  EXPECT_TRUE(written) << written.error();
  return path;
}

void FleetCluster::StartProgram(const std::string& name, const std::string& path,
                                std::vector<std::string> args) {
  programs_.erase(name);
  auto program = ChildProcess::Start(
      {.path = path, .args = std::move(args), .log_file = folder_ + "/" + name + ".log"});
  ASSERT_TRUE(program) << program.error();
  programs_[name] = std::move(*program);
}

void FleetCluster::StartHub(std::vector<std::string> more_args) {
  std::vector<std::string> args = {"--kubeconfig=" + plane_->admin_kubeconfig(),
                                   "--namespace=default",
                                   "--cel-evaluator=fleet/cel/evaluator/evaluator"};
  args.insert(args.end(), more_args.begin(), more_args.end());
  StartProgram("hub", "fleet/hub/hub", std::move(args));
}

void FleetCluster::ExpectRuns(const std::string& name) {
  auto program = programs_.find(name);
  ASSERT_NE(program, programs_.end()) << name << " was not started";
  EXPECT_EQ(program->second->ExitStatus(), std::nullopt) << LogOf(name);
}

std::string FleetCluster::LogOf(const std::string& name, size_t bytes) const {
  return TailOfFile(folder_ + "/" + name + ".log", bytes);
}

std::string FleetCluster::Logs() const {
  std::string logs;
  for (const auto& [name, program] : programs_) logs += "\n" + name + ":\n" + LogOf(name);
  return logs;
}

}  // namespace e2e
