// SPDX-License-Identifier: Apache-2.0
#include "exec-format/operator/monitor_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace exec_format {
namespace {

using kube::Json;
using kube::Unstructured;
using testing::ElementsAre;
using testing::HasSubstr;

Json DaemonSet(int nodes, int available, int updated) {
  Json set;
  set["metadata"]["generation"] = 2;
  set["status"] = {{"observedGeneration", 2},
                   {"desiredNumberScheduled", nodes},
                   {"updatedNumberScheduled", updated},
                   {"numberAvailable", available}};
  return set;
}

// "STATUS REASON: MESSAGE"
std::string Text(const Json& set, const std::vector<std::string>& reasons = {}) {
  auto state = StateOf(MonitorRolloutOf(set), reasons);
  return std::string(state.status ? "True " : "False ") + state.reason + ": " + state.message;
}

TEST(MonitorStatusTest, OnAllNodes) {
  EXPECT_EQ(Text(DaemonSet(3, 3, 3)),
            "True OnAllNodes: exec format errors are seen on all nodes (3)");
}

TEST(MonitorStatusTest, OnSomeNodes) {
  EXPECT_EQ(Text(DaemonSet(3, 2, 3), {"a: no BTF"}),
            "False NotOnAllNodes: exec format errors are seen on 2 of 3 nodes: a: no BTF");
  EXPECT_EQ(Text(DaemonSet(3, 3, 1)),
            "False NotOnAllNodes: exec format errors are seen on 3 of 3 nodes; a new version is "
            "being rolled out");
  EXPECT_THAT(Text(DaemonSet(3, 0, 3), {"a: 1", "b: 2", "c: 3", "d: 4"}),
              testing::AllOf(HasSubstr("False OnNoNode"), HasSubstr("c: 3"),
                             testing::Not(HasSubstr("d: 4"))));
}

TEST(MonitorStatusTest, BeforeTheDaemonSetHasAStatus) {
  EXPECT_THAT(Text(Json::object()), HasSubstr("False OnNoNode"));
  Json old = DaemonSet(3, 3, 3);
  old["status"]["observedGeneration"] = 1;
  EXPECT_THAT(Text(old), HasSubstr("False NotOnAllNodes"));
}

Unstructured Event(const std::string& uid, const std::string& message, const std::string& time,
                   const std::string& reason = "ExecFormatErrorsNotMonitored") {
  Json event;
  event["involvedObject"]["uid"] = uid;
  event["reason"] = reason;
  event["message"] = message;
  event["lastTimestamp"] = time;
  return Unstructured(event);
}

Unstructured Pod(const std::string& uid, const std::string& node) {
  Json pod;
  pod["metadata"]["uid"] = uid;
  pod["spec"]["nodeName"] = node;
  return Unstructured(pod);
}

TEST(MonitorStatusTest, ReasonsAreTheNewestOfEachNode) {
  std::vector<Unstructured> pods = {Pod("1", "node-a"), Pod("2", "node-b")};
  EXPECT_THAT(ReasonsOf({Event("1", "old", "2026-01-01T00:00:00Z"),
                         Event("1", "new", "2026-01-02T00:00:00Z"),
                         Event("2", "two\nlines", "2026-01-01T00:00:00Z"),
                         Event("2", "other", "2026-01-03T00:00:00Z", "BackOff"),
                         Event("gone", "of a pod that is gone", "2026-01-03T00:00:00Z")},
                        pods),
              ElementsAre("node-a: new", "node-b: two lines"));
  EXPECT_THAT(ReasonsOf({Unstructured(Json::array())}, pods), ElementsAre());
  std::string long_message(10'000, 'x');
  EXPECT_LE(ReasonsOf({Event("1", long_message, "")}, pods).front().size(), 320u);
}

}  // namespace
}  // namespace exec_format
