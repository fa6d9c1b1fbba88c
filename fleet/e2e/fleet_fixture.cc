// SPDX-License-Identifier: Apache-2.0
#include "fleet/e2e/fleet_fixture.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <utility>

namespace e2e {
namespace {

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

std::string ControlPlaneAssets() { return Variable("KUBEBUILDER_ASSETS"); }

std::string TestFolder() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return Variable("TEST_TMPDIR") + "/" + (test == nullptr ? "suite" : test->name());
}

bool KubectlFleet::StartCluster(const std::vector<std::string>& crds) {
  auto cluster =
      FleetCluster::Start({.assets = ControlPlaneAssets(), .folder = TestFolder()}, crds);
  EXPECT_TRUE(cluster) << cluster.error();
  if (!cluster) return false;
  cluster_ = std::move(*cluster);
  // kubectl needs to know their kinds.
  return TryKubectl("wait --for=condition=Established customresourcedefinitions --all").status == 0;
}

Finished KubectlFleet::TryKubectl(const std::string& command, const std::string& last) {
  std::vector<std::string> args = {"--kubeconfig=" + plane().admin_kubeconfig()};
  for (size_t begin = 0; begin < command.size();) {
    size_t end = std::min(command.find(' ', begin), command.size());
    args.push_back(command.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!last.empty()) args.push_back(last);
  auto finished = RunToEnd({.path = ControlPlaneAssets() + "/kubectl", .args = std::move(args)},
                           std::chrono::seconds(100));
  EXPECT_TRUE(finished) << finished.error() << cluster_->Logs();
  return finished ? *finished : Finished{.status = 1};
}

std::string KubectlFleet::Kubectl(const std::string& command, const std::string& last) {
  Finished finished = TryKubectl(command, last);
  EXPECT_EQ(finished.status, 0) << command << " " << last << "\n"
                                << finished.output << cluster_->Logs();
  return finished.status == 0 ? finished.output : "";
}

std::string KubectlFleet::Field(const std::string& object, const std::string& path) {
  return Kubectl("get " + object + " --output", "jsonpath={" + path + "}");
}

std::string KubectlFleet::ConditionField(const std::string& object, const std::string& type,
                                         const std::string& field) {
  return Field(object, ".status.conditions[?(@.type==\"" + type + "\")]." + field);
}

std::map<std::string, std::string> KubectlFleet::Versions(const std::string& kinds) {
  std::istringstream lines(
      Kubectl("get " + kinds + " --all-namespaces --output",
              "jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name} "
              "{.metadata.resourceVersion}{\"\\n\"}{end}"));
  std::map<std::string, std::string> versions;
  for (std::string kind, name, version; lines >> kind >> name >> version;)
    versions[kind + " " + name] = version;
  return versions;
}

void KubectlFleet::SetAvailable(const std::string& object) {
  Kubectl("patch " + object + " --subresource=status --type=merge --patch",
          R"({"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Test",
              "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}})");
}

void KubectlFleet::Await(const std::string& object, const std::string& path,
                         const std::string& value) {
  Kubectl("wait --timeout=90s " + object, "--for=jsonpath={" + path + "}=" + value);
}

void KubectlFleet::AwaitCondition(const std::string& object, const std::string& type,
                                  const std::string& status) {
  Kubectl("wait --timeout=90s " + object, "--for=condition=" + type + "=" + status);
}

void KubectlFleet::AwaitChange(const std::string& object, const std::string& path,
                               const std::string& before) {
  AwaitTrue(object + " has another " + path, [&] { return Field(object, path) != before; });
}

void KubectlFleet::AwaitSelected(const std::string& placement, int clusters) {
  Await("placement/" + placement, ".status.numberOfSelectedClusters", std::to_string(clusters));
}

std::string KubectlFleet::AwaitEvents(const std::string& selector, const std::string& path) {
  std::string found;
  AwaitTrue("an event about " + selector, [&] {
    found = Kubectl("get events --all-namespaces --field-selector=" + selector + " --output",
                    "jsonpath=" + path);
    return !found.empty();
  });
  return found;
}

void KubectlFleet::AwaitTrue(const std::string& what, const std::function<bool()>& holds) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(90);
  while (!holds()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline)
        << "not yet: " << what << cluster_->Logs();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

std::string KubectlFleet::File(const std::string& name, const std::string& text) {
  std::string path = folder() + "/" + name;
  kube::Result<> written = WriteFile(path, text);
  EXPECT_TRUE(written) << written.error();
  return path;
}

std::string KubectlFleet::KubeconfigOf(const std::string& account, const std::string& ns) {
  kube::Result<std::string> path = cluster_->KubeconfigOf(account, ns);
  EXPECT_TRUE(path) << path.error();
  return path ? *path : "";
}

void KubectlFleet::StartHub(std::vector<std::string> args) {
  kube::Result<> started =
      cluster_->StartHub(plane().admin_kubeconfig(), "default", std::move(args));
  EXPECT_TRUE(started) << started.error();
}

void KubectlFleet::StartHubAs(const std::string& account, std::vector<std::string> args) {
  const std::string ns = FleetCluster::kNamespace;
  kube::Result<> started = cluster_->StartHub(KubeconfigOf(account, ns), ns, std::move(args));
  EXPECT_TRUE(started) << started.error();
}

void KubectlFleet::StartAgent(const std::string& hub_kubeconfig, const std::string& kubeconfig,
                              const std::string& ns, std::vector<std::string> args) {
  kube::Result<> started =
      cluster_->StartAgent("c1", hub_kubeconfig, kubeconfig, ns, std::move(args));
  EXPECT_TRUE(started) << started.error();
}

void KubectlFleet::ExpectRuns(const std::string& name) {
  kube::Result<> runs = cluster_->Runs(name);
  EXPECT_TRUE(runs) << runs.error();
}

void KubectlFleet::ExpectNothingForbidden(const std::string& name) {
  std::string log = cluster_->LogOf(name, 1 << 20);
  EXPECT_EQ(log.find("forbidden"), std::string::npos) << log;
  EXPECT_EQ(log.find("eyJ"), std::string::npos) << "a token in the log of " << name;
  ExpectRuns(name);
}

}  // namespace e2e
