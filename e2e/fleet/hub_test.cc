// SPDX-License-Identifier: Apache-2.0
// The hub's program on a real API server: decisions, their changes, and that nothing else is
// written. Skipped without KUBEBUILDER_ASSETS.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/control_plane.h"
#include "e2e/cluster_harness/own_network.h"

namespace e2e {
namespace {

constexpr char kCrds[] = "fleet/api/crds";
constexpr char kObjects[] = "e2e/fleet/testdata/hub_objects.yaml";
constexpr char kLater[] = "e2e/fleet/testdata/hub_later.yaml";
constexpr char kHub[] = "fleet/hub/hub";

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class FleetHubTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string assets = Variable("KUBEBUILDER_ASSETS");
    if (assets.empty()) GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
    folder_ = Variable("TEST_TMPDIR") + "/hub";
    std::filesystem::create_directories(folder_);
    kube::Result<> network = EnterOwnNetwork();
    ASSERT_TRUE(network) << network.error();
    auto plane = ControlPlane::Start({.assets = assets, .folder = folder_});
    ASSERT_TRUE(plane) << plane.error();
    plane_ = std::move(*plane);
    ASSERT_TRUE(Ready());
    for (const auto& file : std::filesystem::directory_iterator(kCrds)) {
      if (file.path().filename() != "kustomization.yaml") Kubectl("create --filename", file.path());
    }
    Kubectl("wait --for=condition=Established customresourcedefinitions --all");
    Kubectl("apply --filename", kObjects);
  }

  // The output; an empty one, and a failure of the test, if kubectl fails. `last` is one argument.
  std::string Kubectl(const std::string& command, const std::string& last = "") {
    Finished finished = Run(command, last);
    EXPECT_EQ(finished.status, 0) << command << " " << last << "\n" << finished.output << HubLog();
    return finished.status == 0 ? finished.output : "";
  }
  Finished Run(const std::string& command, const std::string& last) {
    std::vector<std::string> args = {"--kubeconfig=" + plane_->admin_kubeconfig()};
    for (size_t begin = 0; begin < command.size();) {
      size_t end = std::min(command.find(' ', begin), command.size());
      args.push_back(command.substr(begin, end - begin));
      begin = end + 1;
    }
    if (!last.empty()) args.push_back(last);
    auto finished =
        RunToEnd({.path = Variable("KUBEBUILDER_ASSETS") + "/kubectl", .args = std::move(args)},
                 std::chrono::seconds(100));
    EXPECT_TRUE(finished) << finished.error() << HubLog();
    return finished ? *finished : Finished{.status = 1};
  }
  bool Ready() {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (std::chrono::steady_clock::now() < deadline) {
      if (Run("get namespace default", "").status == 0) return true;
      kube::Result<> run = plane_->AllRun();
      EXPECT_TRUE(run) << run.error();
      if (!run) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return false;
  }

  void StartHub() {
    auto hub = ChildProcess::Start(
        {.path = kHub,
         .args = {"--kubeconfig=" + plane_->admin_kubeconfig(), "--namespace=default",
                  "--cel-evaluator=fleet/cel/evaluator/evaluator"},
         .log_file = folder_ + "/hub.log"});
    ASSERT_TRUE(hub) << hub.error();
    hub_ = std::move(*hub);
  }
  std::string HubLog() { return "\nhub:\n" + TailOfFile(folder_ + "/hub.log"); }

  // Waits until the status of the Placement has this number.
  void AwaitSelected(const std::string& placement, int clusters) {
    Kubectl("wait --timeout=90s placement/" + placement,
            "--for=jsonpath={.status.numberOfSelectedClusters}=" + std::to_string(clusters));
  }
  // The first event about a Placement, "TYPE REASON"; "" if there is none in time.
  std::string AwaitEvent(const std::string& placement) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    std::string event;
    while (event.empty() && std::chrono::steady_clock::now() < deadline) {
      event = Kubectl("get events --field-selector=involvedObject.name=" + placement + " --output",
                      "jsonpath={range .items[0:1]}{.type} {.reason}{end}");
      if (event.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return event;
  }
  // "all-decision-1=a1 a2 all-decision-2=b1 "
  std::string Decisions(const std::string& placement) {
    return Kubectl(
        "get placementdecisions --selector=cluster.open-cluster-management.io/placement=" +
            placement + " --output",
        "jsonpath={range .items[*]}{.metadata.name}={.status.decisions[*].clusterName} "
        "{end}");
  }
  std::string Versions(const std::string& kinds) {
    return Kubectl("get " + kinds + " --output",
                   "jsonpath={range .items[*]}{.metadata.name}={.metadata.resourceVersion} {end}");
  }

  std::string folder_;
  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<ChildProcess> hub_;
};

TEST_F(FleetHubTest, DecidesAndThenWritesOnlyWhatChanges) {
  StartHub();
  AwaitSelected("all", 3);
  AwaitSelected("zone-b", 1);
  EXPECT_EQ(Decisions("all"), "all-decision-1=a1 a2 all-decision-2=b1 ");
  EXPECT_EQ(Decisions("zone-b"), "zone-b-decision-1=b1 ");
  AwaitSelected("cel", 2);
  EXPECT_EQ(Decisions("cel"), "cel-decision-1=a1 b1 ");
  EXPECT_EQ(Decisions("of-another"), "") << "OCM's controller decides about it";
  EXPECT_EQ(
      Kubectl("get placement all --output",
              "jsonpath={.status.conditions[*].reason} {.status.decisionGroups[*].decisions}"),
      R"(Succeedconfigured AllDecisionsScheduled ["all-decision-1"] ["all-decision-2"])");

  // Claimed for this hub, but OCM's controller is not told to leave it alone.
  EXPECT_EQ(AwaitEvent("incomplete"), "Warning SchedulerIncomplete");
  EXPECT_EQ(Decisions("incomplete"), "");

  // The rest is as before when a cluster has gone from one zone.
  std::string before = Versions("placement/zone-b placementdecision/zone-b-decision-1");
  Kubectl("patch managedcluster a1 --type=merge --patch",
          R"({"spec": {"taints": [{"key": "gpu", "effect": "NoSelect"}]}})");
  AwaitSelected("all", 2);
  EXPECT_EQ(Decisions("all"), "all-decision-1=a2 b1 ");
  AwaitSelected("cel", 1);
  EXPECT_EQ(Versions("placement/zone-b placementdecision/zone-b-decision-1"), before);

  // Another process continues, and writes nothing that is right.
  before = Versions("placements,placementdecisions");
  hub_.reset();
  Kubectl("create --filename", kLater);
  StartHub();
  AwaitSelected("later", 1);
  std::string after = Versions("placements,placementdecisions");
  for (const char* name : {"all=", "zone-b=", "all-decision-1=", "zone-b-decision-1="}) {
    auto version = [&](const std::string& text) {
      size_t begin = (" " + text).find(std::string(" ") + name);
      return begin == std::string::npos ? "" : text.substr(begin, text.find(' ', begin) - begin);
    };
    EXPECT_NE(version(before), "") << name;
    EXPECT_EQ(version(after), version(before));
  }

  // Repaired, in the presence of what others add.
  Kubectl(
      "label placementdecision all-decision-1 mine=stays "
      "cluster.open-cluster-management.io/decision-group-index-");
  Kubectl(
      "wait --timeout=60s placementdecision/all-decision-1",
      R"(--for=jsonpath={.metadata.labels.cluster\.open-cluster-management\.io/decision-group-index}=0)");
  EXPECT_EQ(
      Kubectl("get placementdecision all-decision-1 --output", "jsonpath={.metadata.labels.mine}"),
      "stays");

  EXPECT_EQ(hub_->ExitStatus(), std::nullopt) << HubLog();
}

}  // namespace
}  // namespace e2e
