// SPDX-License-Identifier: Apache-2.0
#include "fleet/scores/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "fleet/scores/usage.h"
#include "fleet/scores/usage_index.h"

namespace fleet {
namespace {

using kube::Json;
using kube::WallTime;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::IsEmpty;

constexpr int64_t kGi = 1 << 20;  // in KiB

NodeUsage MakeNode(std::string_view architecture, int64_t cores, int64_t gib, bool usable = true) {
  return {.architecture = ArchitectureIndex(architecture),
          .usable = usable,
          .allocatable = {.milli_cpu = cores * 1000, .kib = gib * kGi}};
}

PodUsage MakePod(const std::string& node, int64_t cores, int64_t gib,
                 const std::string& workload = "",
                 std::initializer_list<std::string_view> labels = {}) {
  PodUsage pod{.node = node,
               .requests = {.milli_cpu = cores * 1000, .kib = gib * kGi},
               .workload = workload};
  for (std::string_view label : labels) pod.architectures |= 1 << ArchitectureIndex(label);
  return pod;
}

// "arm64.cpu=50 arm64.share=..." of the scores that are not 0.
std::string TextOf(const UsageIndex& index) {
  std::string text;
  for (const auto& [name, value] : ScoresOf(index.sums(), {})) {
    EXPECT_TRUE(value >= 0 && value <= 100) << name << " " << value;
    if (value != 0) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  }
  return text;
}

struct NodeRow {
  std::string name;
  NodeUsage node;
};
struct PodRow {
  std::string uid;
  PodUsage pod;
};
struct ScoresRow {
  std::string rule;
  std::vector<NodeRow> nodes;
  std::vector<PodRow> pods;
  std::string scores;
};
void PrintTo(const ScoresRow& row, std::ostream* out) { *out << row.rule; }

class ScoresTable : public testing::TestWithParam<ScoresRow> {};

TEST_P(ScoresTable, InAnyOrder) {
  for (bool pods_first : {false, true}) {
    UsageIndex index;
    auto add_pods = [&] {
      for (const auto& [uid, pod] : GetParam().pods) index.SetPod(uid, pod);
    };
    if (pods_first) add_pods();
    for (const auto& [name, node] : GetParam().nodes) index.SetNode(name, node);
    if (!pods_first) add_pods();
    EXPECT_EQ(TextOf(index), GetParam().scores) << pods_first;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, ScoresTable,
    testing::Values(
        ScoresRow{"an empty cluster", {}, {}, ""},
        ScoresRow{"128 of 256 cores, 512 GiB of 1 TiB",
                  {{"n", MakeNode("arm64", 128, 512)}},
                  {},
                  "arm64.cpu=50 arm64.memory=50 arm64.share=100"},
        ScoresRow{"more than full is 100",
                  {{"n", MakeNode("arm64", 1000, 2048)}},
                  {},
                  "arm64.cpu=100 arm64.memory=100 arm64.share=100"},
        ScoresRow{"towards zero",
                  {{"n", MakeNode("arm64", 5, 20)}},
                  {},
                  "arm64.cpu=1 arm64.memory=1 arm64.share=100"},
        ScoresRow{"each architecture",
                  {{"a", MakeNode("arm64", 64, 256)},
                   {"b", MakeNode("amd64", 32, 128)},
                   {"c", MakeNode("amd64", 96, 128)}},
                  {},
                  "amd64.cpu=50 amd64.memory=25 amd64.share=66 arm64.cpu=25 arm64.memory=25 "
                  "arm64.share=33"},
        ScoresRow{"requests are not free, on any node of the architecture",
                  {{"a", MakeNode("arm64", 64, 256)}, {"b", MakeNode("arm64", 64, 256)}},
                  {{"1", MakePod("a", 60, 100)}, {"2", MakePod("b", 4, 156)}},
                  "arm64.cpu=25 arm64.memory=25 arm64.share=100"},
        ScoresRow{"a node with too many requests takes nothing from others",
                  {{"a", MakeNode("arm64", 64, 256)}, {"b", MakeNode("arm64", 64, 256)}},
                  {{"1", MakePod("a", 640, 2560)}},
                  "arm64.cpu=25 arm64.memory=25 arm64.share=100"},
        ScoresRow{"a node that is not usable has neither capacity nor share",
                  {{"a", MakeNode("arm64", 64, 256)}, {"b", MakeNode("s390x", 64, 256, false)}},
                  {{"1", MakePod("b", 1, 1)}},
                  "arm64.cpu=25 arm64.memory=25 arm64.share=100"},
        ScoresRow{"a node of an unknown architecture has a share",
                  {{"a", MakeNode("arm64", 64, 256)}, {"b", MakeNode("sparc", 64, 256)}},
                  {},
                  "arm64.cpu=25 arm64.memory=25 arm64.share=50"},
        ScoresRow{"requests on a node that does not exist",
                  {{"a", MakeNode("arm64", 64, 256)}},
                  {{"1", MakePod("gone", 60, 100)}},
                  "arm64.cpu=25 arm64.memory=25 arm64.share=100"},
        ScoresRow{"a workload is runnable if all its pods are",
                  {},
                  {{"1", MakePod("", 0, 0, "x", {"arm64", "amd64"})},
                   {"2", MakePod("", 0, 0, "x", {"amd64"})},
                   {"3", MakePod("", 0, 0, "y", {"arm64", "amd64"})},
                   {"4", MakePod("", 0, 0, "z", {})}},
                  "amd64.runnable=66 arm64.runnable=33"}));

TEST(ScoresTest, ClaimsNameTheArchitecturesOfTheNodes) {
  UsageIndex index;
  index.SetNode("a", MakeNode("arm64", 1, 1, /*usable=*/false));
  index.SetNode("b", MakeNode("sparc", 1, 1));
  index.SetPod("1", MakePod("", 0, 0, "x", {"amd64"}));
  EXPECT_EQ(ClaimsOf(index.sums()),
            (std::map<std::string, std::string>{{"arm64.multiarch.openshift.io", "true"}}));
}

TEST(ScoresTest, AnArchitectureThatHasNothingHasZeros) {
  UsageIndex index;
  index.SetNode("a", MakeNode("arm64", 1, 1, /*usable=*/false));
  EXPECT_EQ(
      ScoresOf(index.sums(), {}),
      (Scores{{"arm64.cpu", 0}, {"arm64.memory", 0}, {"arm64.share", 0}, {"arm64.runnable", 0}}));
}

TEST(ScoresTest, FullIsAnOption) {
  UsageIndex index;
  index.SetNode("a", MakeNode("arm64", 4, 16));
  Scores scores = ScoresOf(index.sums(), {.full = {.milli_cpu = 8000, .kib = 64 * kGi}});
  EXPECT_EQ(scores["arm64.cpu"], 50);
  EXPECT_EQ(scores["arm64.memory"], 25);
  EXPECT_EQ(ScoresOf(index.sums(), {.full = {}})["arm64.cpu"], 0);
}

// When to write. Stored: valid for `left` more, with a=50 and b=3.
struct WriteRow {
  std::string rule;
  std::optional<seconds> left;
  Scores scores;
  bool write = false;
};
void PrintTo(const WriteRow& row, std::ostream* out) { *out << row.rule; }

class WriteTable : public testing::TestWithParam<WriteRow> {};

TEST_P(WriteTable, Decides) {
  const WallTime now = WallTime(std::chrono::hours(1000));
  StoredScores stored{.scores = {{"a", 50}, {"b", 3}}};
  if (GetParam().left) stored.valid_until = now + *GetParam().left;
  WriteDecision decision = DecideWrite(&stored, GetParam().scores, now);
  EXPECT_EQ(decision.write, GetParam().write);
  if (!decision.write) {
    EXPECT_EQ(decision.look_again, *stored.valid_until - seconds(450));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WriteTable,
    testing::Values(WriteRow{"the same", minutes(15), {{"a", 50}, {"b", 3}}, false},
                    WriteRow{"4 more", minutes(15), {{"a", 54}, {"b", 3}}, false},
                    WriteRow{"4 less", minutes(15), {{"a", 46}, {"b", 3}}, false},
                    WriteRow{"5 more", minutes(15), {{"a", 55}, {"b", 3}}, true},
                    WriteRow{"5 less", minutes(15), {{"a", 45}, {"b", 3}}, true},
                    WriteRow{"one is gone", minutes(15), {{"b", 3}}, true},
                    WriteRow{"one near 0 is gone", minutes(15), {{"a", 50}}, false},
                    WriteRow{"one more", minutes(15), {{"a", 50}, {"b", 3}, {"c", 5}}, true},
                    WriteRow{"one more near 0", minutes(15), {{"a", 50}, {"c", 4}}, false},
                    WriteRow{"half is not over", seconds(451), {{"a", 50}, {"b", 3}}, false},
                    WriteRow{"half is over", seconds(450), {{"a", 50}, {"b", 3}}, true},
                    WriteRow{"expired", seconds(-1), {{"a", 50}, {"b", 3}}, true},
                    WriteRow{"valid for too long", minutes(16), {{"a", 50}, {"b", 3}}, true},
                    WriteRow{"valid for ever", std::nullopt, {{"a", 50}, {"b", 3}}, true}));

TEST(DecideWriteTest, WhatIsNotStoredIsWritten) {
  EXPECT_TRUE(DecideWrite(nullptr, {}, WallTime()).write);
}

// The index after each event is what a new index with the present objects is.
TEST(UsageIndexTest, EveryOrderOfEventsGivesTheSumsOfTheObjects) {
  std::mt19937 random(7);
  auto upto = [&](int high) { return std::uniform_int_distribution<int>(0, high)(random); };
  UsageIndex index;
  std::map<std::string, NodeUsage> nodes;
  std::map<std::string, PodUsage> pods;
  auto random_node = [&] {
    return MakeNode(kScoredArchitectures[upto(2)], upto(10), upto(10), upto(3) > 0);
  };
  auto random_pod = [&] {
    PodUsage pod = MakePod(upto(3) == 0 ? "" : "n" + std::to_string(upto(9)), upto(5), upto(5),
                           upto(5) == 0 ? "" : "w" + std::to_string(upto(7)));
    pod.architectures = upto(7);
    return pod;
  };
  for (int step = 0; step < 20'000; ++step) {
    std::string node = "n" + std::to_string(upto(9));
    std::string pod = "p" + std::to_string(upto(40));
    switch (upto(5)) {
      case 0:
        index.SetNode(node, nodes[node] = random_node());
        break;
      case 1:
        nodes.erase(node);
        index.RemoveNode(node);
        break;
      case 2:
        pods.erase(pod);
        index.RemovePod(pod);
        break;
      default:
        index.SetPod(pod, pods[pod] = random_pod());
    }
    if (upto(500) == 0) {  // the watches begin again, with some objects gone meanwhile
      std::erase_if(nodes, [&](const auto& entry) {
        bool gone = upto(2) == 0;
        if (gone) index.RemoveNode(entry.first);
        return gone;
      });
      std::erase_if(pods, [&](const auto& entry) {
        bool gone = upto(2) == 0;
        if (gone) index.RemovePod(entry.first);
        return gone;
      });
      for (const auto& [name, usage] : nodes) index.SetNode(name, usage);
      for (const auto& [uid, usage] : pods) index.SetPod(uid, usage);
    }
    if (step % 10 != 0) continue;
    UsageIndex expected;
    for (const auto& [name, usage] : nodes) expected.SetNode(name, usage);
    for (const auto& [uid, usage] : pods) expected.SetPod(uid, usage);
    ASSERT_EQ(index.sums(), expected.sums()) << step;
  }
  for (const auto& [name, usage] : nodes) index.RemoveNode(name);
  for (const auto& [uid, usage] : pods) index.RemovePod(uid);
  EXPECT_EQ(index.sums(), UsageSums());
  EXPECT_EQ(index.pods(), 0u);
}

TEST(UsageIndexTest, PodsAreTheirUids) {
  UsageIndex index;
  std::string uid = "550e8400-e29b-41d4-a716-446655440000";
  std::set<std::string> uids;
  for (size_t i = 0; i < uid.size(); ++i) {  // each differs in one place
    std::string other = uid;
    if (other[i] != '-') other[i] = other[i] == 'f' ? 'e' : 'f';
    uids.insert(other);
  }
  for (const std::string& other : uids) index.SetPod(other, MakePod("n", 1, 1, "w"));
  EXPECT_EQ(index.pods(), uids.size());
  for (const std::string& other : uids) index.RemovePod(other);
  EXPECT_EQ(index.pods(), 0u);
}

TEST(UsageIndexTest, ItIsBounded) {
  UsageIndex index;
  for (size_t i = 0; i < UsageIndex::kMaxNodes + 10; ++i)
    index.SetNode("n" + std::to_string(i), MakeNode("arm64", 1, 1));
  EXPECT_EQ(index.ignored(), 10u);
  index.SetNode("n0", MakeNode("arm64", 2, 2));  // a known one is updated
  index.RemoveNode("n1");
  index.SetNode("another", MakeNode("arm64", 1, 1));
  EXPECT_EQ(index.ignored(), 10u);
  EXPECT_EQ(index.sums().architectures[ArchitectureIndex("arm64")].nodes,
            int64_t{UsageIndex::kMaxNodes});
}

// What counts of an object.

struct RequestsRow {
  std::string rule;
  std::string spec;
  Resources requests;
};
void PrintTo(const RequestsRow& row, std::ostream* out) { *out << row.rule; }

class RequestsTable : public testing::TestWithParam<RequestsRow> {};

TEST_P(RequestsTable, AreThoseOfTheScheduler) {
  Json pod = {{"spec", kube::MustParseJson(GetParam().spec)}};
  EXPECT_EQ(PodUsage::FromJson(pod).requests, GetParam().requests);
}

INSTANTIATE_TEST_SUITE_P(
    All, RequestsTable,
    testing::Values(
        RequestsRow{"none", R"({"containers": [{"name": "a"}]})", {}},
        RequestsRow{
            "all containers",
            R"({"containers": [{"resources": {"requests": {"cpu": "1500m", "memory": "1Gi"}}},
                        {"resources": {"requests": {"cpu": "0.1", "memory": "1Mi"}}}]})",
            {1600, kGi + 1024}},
        RequestsRow{
            "rounded up",
            R"({"containers": [{"resources": {"requests": {"cpu": "1u", "memory": "1"}}}]})",
            {1, 1}},
        RequestsRow{"the largest init container",
                    R"({"containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Ki"}}}],
                        "initContainers": [{"resources": {"requests": {"cpu": "3"}}},
                                           {"resources": {"requests": {"cpu": "2"}}}]})",
                    {3000, 1}},
        RequestsRow{"sidecars run with the containers",
                    R"({"containers": [{"resources": {"requests": {"cpu": "1"}}}],
                        "initContainers": [{"restartPolicy": "Always",
                                            "resources": {"requests": {"cpu": "2"}}}]})",
                    {3000, 0}},
        RequestsRow{"and with the init containers after them",
                    R"({"containers": [{"resources": {"requests": {"cpu": "1"}}}],
                        "initContainers": [{"resources": {"requests": {"cpu": "4"}}},
                                           {"restartPolicy": "Always",
                                            "resources": {"requests": {"cpu": "2"}}},
                                           {"resources": {"requests": {"cpu": "3"}}}]})",
                    {5000, 0}},
        RequestsRow{"overhead",
                    R"({"containers": [], "overhead": {"cpu": "250m", "memory": "1Ki"}})",
                    {250, 1}},
        RequestsRow{"of the pod",
                    R"({"resources": {"requests": {"cpu": "5"}},
                        "containers": [{"resources": {"requests": {"cpu": "1", "memory": "1Ki"}}}]})",
                    {5000, 1}},
        RequestsRow{"malformed",
                    R"({"containers": [{"resources": {"requests": {"cpu": "many",
                        "memory": ["1"]}}}, 7, {"resources": 1}], "initContainers": "x"})",
                    {}},
        RequestsRow{"negative", R"({"overhead": {"cpu": "-1", "memory": "-1Gi"}})", {}},
        RequestsRow{"huge",
                    R"({"overhead": {"cpu": "9E", "memory": "9E"}})",
                    {1'000'000'000'000, 1'000'000'000'000}}));

struct WorkloadRow {
  std::string rule;
  std::string pod;
  std::string workload;
};
void PrintTo(const WorkloadRow& row, std::ostream* out) { *out << row.rule; }

class WorkloadTable : public testing::TestWithParam<WorkloadRow> {};

TEST_P(WorkloadTable, IsTheController) {
  Json pod = kube::MustParseJson(GetParam().pod);
  pod["metadata"]["namespace"] = "ns";
  pod["metadata"]["name"] = "p";
  EXPECT_EQ(PodUsage::FromJson(pod).workload, GetParam().workload);
}

INSTANTIATE_TEST_SUITE_P(
    All, WorkloadTable,
    testing::Values(
        WorkloadRow{"a pod alone", "{}", "ns/Pod/p"},
        WorkloadRow{"a StatefulSet", R"({"metadata": {"ownerReferences": [
            {"kind": "Other", "name": "x"},
            {"kind": "StatefulSet", "name": "db", "controller": true}]}})",
                    "ns/StatefulSet/db"},
        WorkloadRow{"the Deployment of a ReplicaSet", R"({"metadata": {
            "labels": {"pod-template-hash": "5d4f"}, "ownerReferences": [
            {"kind": "ReplicaSet", "name": "web-5d4f", "controller": true}]}})",
                    "ns/Deployment/web"},
        WorkloadRow{"a ReplicaSet alone", R"({"metadata": {"ownerReferences": [
            {"kind": "ReplicaSet", "name": "web-5d4f", "controller": true}]}})",
                    "ns/ReplicaSet/web-5d4f"},
        WorkloadRow{"an owner that does not control", R"({"metadata": {"ownerReferences": [
            {"kind": "Other", "name": "x", "controller": false}]}})",
                    "ns/Pod/p"},
        WorkloadRow{"a static pod is the node's", R"({"metadata": {"ownerReferences": [
            {"kind": "Node", "name": "n1", "controller": true}]}})",
                    ""},
        WorkloadRow{"a gated pod", R"({"spec": {"schedulingGates": [{"name": "g"}]}})", ""},
        WorkloadRow{"no gates any more", R"({"spec": {"schedulingGates": []}})", "ns/Pod/p"},
        WorkloadRow{"ended", R"({"status": {"phase": "Succeeded"}})", ""},
        WorkloadRow{"failed", R"({"status": {"phase": "Failed"}})", ""},
        WorkloadRow{"running", R"({"status": {"phase": "Running"}})", "ns/Pod/p"}));

TEST(PodUsageTest, APodThatEndedRequestsNothing) {
  Json pod = kube::MustParseJson(R"({"spec": {"nodeName": "n", "overhead": {"cpu": "1"}}})");
  EXPECT_EQ(PodUsage::FromJson(pod).node, "n");
  pod["status"]["phase"] = "Succeeded";
  EXPECT_EQ(PodUsage::FromJson(pod).node, "");
  EXPECT_EQ(PodUsage::FromJson(pod).requests, Resources());
}

TEST(PodUsageTest, LabelsOfArchitecturesCountWhateverTheirValueIs) {
  Json pod = kube::MustParseJson(R"({"metadata": {"labels": {"multiarch.openshift.io/arm64": "",
      "multiarch.openshift.io/s390x": "x", "multiarch.openshift.io/operand": "amd64",
      "multiarch.openshift.io/multi-arch": "", "amd64": ""}}})");
  EXPECT_EQ(PodUsage::FromJson(pod).architectures,
            1 << ArchitectureIndex("arm64") | 1 << ArchitectureIndex("s390x"));
}

struct NodeStateRow {
  std::string rule;
  std::string node;
  bool usable = false;
};
void PrintTo(const NodeStateRow& row, std::ostream* out) { *out << row.rule; }

class NodeTable : public testing::TestWithParam<NodeStateRow> {};

TEST_P(NodeTable, IsUsable) {
  EXPECT_EQ(NodeUsage::FromJson(kube::MustParseJson(GetParam().node)).usable, GetParam().usable);
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeTable,
    testing::Values(
        NodeStateRow{"Ready", R"({"status": {"conditions": [{"type": "DiskPressure", "status":
            "False"}, {"type": "Ready", "status": "True"}]}})",
                     true},
        NodeStateRow{"not Ready",
                     R"({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})",
                     false},
        NodeStateRow{"unknown",
                     R"({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}})",
                     false},
        NodeStateRow{"new", "{}", false},
        NodeStateRow{"cordoned", R"({"spec": {"unschedulable": true}, "status": {"conditions":
            [{"type": "Ready", "status": "True"}]}})",
                     false},
        NodeStateRow{"being deleted", R"({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}})",
                     false},
        NodeStateRow{"malformed", R"({"status": {"conditions": {"Ready": true}}})", false}));

TEST(NodeUsageTest, AllocatableIsRoundedDown) {
  NodeUsage node = NodeUsage::FromJson(kube::MustParseJson(R"({
      "metadata": {"labels": {"kubernetes.io/arch": "s390x"}},
      "status": {"allocatable": {"cpu": "3920m", "memory": "1537"}, "capacity": {"cpu": "4"}}})"));
  EXPECT_EQ(node.architecture, ArchitectureIndex("s390x"));
  EXPECT_EQ(node.allocatable, (Resources{.milli_cpu = 3920, .kib = 1}));
}

}  // namespace
}  // namespace fleet
