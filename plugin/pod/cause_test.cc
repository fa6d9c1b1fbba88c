// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/cause.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "exec-format/names.h"
#include "kube/testing/make_pod.h"

namespace plugin {
namespace {

using kube::Json;
using kube::MakePod;
using kube::core::Pod;
using placement::NodeView;
using testing::HasSubstr;

// A pod that the operator has gated, or had.
MakePod Gated(std::string_view gate) { return MakePod("web").Gate(gate).Label(gate, api::kGated); }
MakePod Released() { return MakePod("web").Label(api::kClusterGateLabel, api::kRemoved); }

PodEvidence Of(Pod pod) {
  PodEvidence evidence;
  evidence.pod = std::move(pod);
  evidence.around->ns.emplace().mutable_metadata()->set_name("ns");
  evidence.around->cluster_config = api::MakeClusterConfig();
  return evidence;
}

Json Unavailable(const std::string& reason, const std::string& message) {
  Json condition = {{"type", std::string(api::kAvailable)},
                    {"status", "False"},
                    {"reason", reason},
                    {"message", message},
                    {"lastTransitionTime", "2026-01-01T00:00:00Z"}};
  return Json::array({std::move(condition)});
}

NodeView MakeNode(const std::string& architecture, const std::string& taint = "") {
  NodeView node{.name = "n", .labels = {{std::string(api::kArchLabel), architecture}}};
  if (!taint.empty()) {
    kube::workloads::Taint& added = node.taints.emplace_back();
    added.set_key(taint);
    added.set_effect("NoSchedule");
  }
  return node;
}

MakePod RequiresArm() {
  return Released()
      .Label(api::kNodeAffinityLabel, api::kSet)
      .Requires(api::kArchLabel, "In", {"arm64"});
}

TEST(CauseTest, WhatKeepsAGate) {
  PodEvidence other = Of(Gated(api::kClusterGate).Gate("example.com/wait"));
  EXPECT_EQ(FindCause(other).name, "AwaitsOtherGates");
  EXPECT_THAT(FindCause(other).why, HasSubstr("example.com/wait"));

  PodEvidence refused = Of(Gated(api::kClusterGate));
  kube::core::Event& event = refused.events.emplace_back();
  event.set_reason(std::string(api::kReasonGateRemovalFailed));
  event.set_message("denied by the policy no-changes");
  EXPECT_EQ(FindCause(refused).name, "WriteRefused");
  EXPECT_THAT(FindCause(refused).why, HasSubstr("no-changes"));

  PodEvidence shard = Of(Gated(api::kLocalGate));
  EXPECT_EQ(FindCause(shard).name, "AwaitsShard");
  api::PodPlacementConfig config = api::MakeConfig("arm").Set(
      "/status/conditions", Unavailable("ControllerNotAvailable", "0 of 1 replicas"));
  shard.around->configs.push_back(config);
  EXPECT_EQ(FindCause(shard).name, "ShardNotAvailable");
  EXPECT_THAT(FindCause(shard).why, HasSubstr("0 of 1 replicas"));
  EXPECT_THAT(FindCause(shard).next, HasSubstr("arm"));

  PodEvidence controller = Of(Gated(api::kClusterGate));
  EXPECT_EQ(FindCause(controller).name, "AwaitsInspection");
  controller.around->cluster_config = api::MakeClusterConfig().Set(
      "/status/conditions", Unavailable("NotAllComponentsReady", "no controller"));
  EXPECT_EQ(FindCause(controller).name, "OperatorNotAvailable");
  controller.around->cluster_config.reset();
  controller.around->has_no_cluster_config = true;
  EXPECT_EQ(FindCause(controller).name, "NoClusterPodPlacementConfig");
}

TEST(CauseTest, WhyImagesAreNotKnown) {
  const std::pair<const char*, const char*> rows[] = {
      {"inspect r.io/a:1: registry r.io: 401 Unauthorized", "RegistryRefusesCredentials"},
      {"inspect r.io/a:1: registry r.io: 403 Forbidden", "RegistryRefusesCredentials"},
      {"inspect r.io/a:1: registry r.io: 404 Not Found", "ImageNotFound"},
      {"inspect r.io/a:1: registry r.io: 429 Too Many Requests", "RegistryLimitsRequests"},
      {"inspect r.io/a:1: certificate verify failed", "RegistryNotTrusted"},
      {"inspect r.io/a:1: connect to r.io: Connection refused", "RegistryUnreachable"},
      {"", "RegistryUnreachable"}};
  for (const auto& [error, name] : rows) {
    for (MakePod pod : {Gated(api::kClusterGate), Released()}) {
      Cause cause = FindCause(Of(
          pod.Label(api::kInspectErrorLabel, "").Annotation(api::kInspectErrorAnnotation, error)));
      EXPECT_EQ(cause.name, name) << error;
      EXPECT_THAT(cause.why, HasSubstr(error));
    }
  }
}

TEST(CauseTest, WhatKeepsAPodFromBeingScheduled) {
  EXPECT_EQ(FindCause(Of(Released().Label(api::kNoSupportedArchLabel, ""))).name,
            "NoCommonArchitecture");

  PodEvidence pod = Of(RequiresArm());
  EXPECT_EQ(FindCause(pod).name, "") << "nodes are not known";
  pod.around->nodes = {MakeNode("amd64")};
  EXPECT_EQ(FindCause(pod).name, "NoNodeOfArchitecture");
  pod.around->nodes->push_back(MakeNode("arm64", "spot"));
  EXPECT_EQ(FindCause(pod).name, "NodesAreTainted");
  EXPECT_THAT(FindCause(pod).why, HasSubstr("spot:NoSchedule"));
  pod.around->nodes->push_back(MakeNode("arm64"));
  EXPECT_EQ(FindCause(pod).name, "");
  kube::core::PodCondition& scheduled = *pod.pod.mutable_status()->add_conditions();
  scheduled.set_type("PodScheduled");
  scheduled.set_status("False");
  scheduled.set_message("0/3 nodes are available: 1 Insufficient cpu");
  EXPECT_EQ(FindCause(pod).name, "NotScheduled");
  EXPECT_THAT(FindCause(pod).why, HasSubstr("Insufficient cpu"));

  PodEvidence own = Of(Released().NodeSelector(api::kArchLabel, "s390x"));
  own.around->nodes = {MakeNode("amd64")};
  EXPECT_EQ(FindCause(own).name, "OwnConstraint");
  PodEvidence zone = Of(Released().NodeSelector("zone", "a"));
  zone.around->nodes = {MakeNode("amd64")};
  EXPECT_EQ(FindCause(zone).name, "NoNodeSelected");
}

TEST(CauseTest, WhyAPodWasNotPlaced) {
  EXPECT_EQ(FindCause(Of(MakePod("web"))).name, "NotGated");
  EXPECT_EQ(FindCause(Of(MakePod("web").Namespace("kube-system"))).name, "NamespaceReserved");
  EXPECT_EQ(FindCause(Of(MakePod("web").Label(api::kExcludeLabel, ""))).name, "PodOptsOut");
  EXPECT_EQ(FindCause(Of(MakePod("web").Owner("apps/v1", "DaemonSet", "d"))).name, "NeverPlaced");

  PodEvidence excluded = Of(MakePod("web"));
  (*excluded.around->ns->mutable_metadata()->mutable_labels())[std::string(api::kExcludeLabel)] =
      "";
  EXPECT_EQ(FindCause(excluded).name, "NamespaceOptsOut");

  PodEvidence unselected = Of(MakePod("web"));
  unselected.around->cluster_config =
      api::MakeClusterConfig().Set("/spec/namespaceSelector/matchLabels/stage", "prod");
  EXPECT_EQ(FindCause(unselected).name, "NamespaceNotSelected");
  (*unselected.around->ns->mutable_metadata()->mutable_labels())["stage"] = "prod";
  EXPECT_EQ(FindCause(unselected).name, "NotGated");

  PodEvidence none = Of(MakePod("web"));
  none.around->cluster_config.reset();
  EXPECT_EQ(FindCause(none).name, "") << "it could not be read";
  none.around->has_no_cluster_config = true;
  EXPECT_EQ(FindCause(none).name, "NoClusterPodPlacementConfig");

  PodEvidence unreachable = Of(MakePod("web"));
  unreachable.around->cluster_config = api::MakeClusterConfig().Set(
      "/status/conditions", Unavailable("WebhookUnreachable", "no route to host"));
  EXPECT_THAT(FindCause(unreachable).why, HasSubstr("no route to host"));
}

TEST(CauseTest, NothingIsWrongWithAPodThatRuns) {
  EXPECT_EQ(FindCause(Of(RequiresArm().Node("n").Phase("Running"))).name, "");
}

TEST(CauseTest, WhatKeepsAPodOnItsNodeFromRunning) {
  PodEvidence evidence = Of(Released().Label(exec_format::kExecFormatErrorLabel, "true"));
  evidence.pod.mutable_spec()->set_node_name("node-1");
  EXPECT_EQ(FindCause(evidence).name, "ExecFormatError");
  EXPECT_THAT(FindCause(evidence).why, HasSubstr("no program for its node"));
  kube::core::Event& event = evidence.events.emplace_back();
  event.set_reason(std::string(exec_format::kReasonExecFormatError));
  event.set_message("Container app tried to execute /app");
  EXPECT_EQ(FindCause(evidence).why, "Container app tried to execute /app");
  EXPECT_THAT(FindCause(evidence).next, HasSubstr("build the image again"));
}

}  // namespace
}  // namespace plugin
