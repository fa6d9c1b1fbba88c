// SPDX-License-Identifier: Apache-2.0
#include "writes/pod_events.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "api/pod_events.h"

namespace writes {
namespace {

TEST(PodEventsTest, OnlyProblemsOfPodsAreRecorded) {
  kube::core::ObjectReference pod;
  pod.set_kind("Pod");
  kube::core::ObjectReference other;
  other.set_kind("DaemonSet");
  PodEvents events;
  auto wanted = events.Wanted();
  EXPECT_TRUE(wanted(pod, false, api::kReasonGateRemoved));
  events.Set(api::kProblemsOfPods);
  EXPECT_FALSE(wanted(pod, false, api::kReasonGateRemoved));
  EXPECT_TRUE(wanted(pod, true, api::kReasonInspectionError));
  EXPECT_TRUE(wanted(pod, false, api::kReasonNoSupportedArchitectures));
  EXPECT_TRUE(wanted(other, false, "Any"));
  events.Set("?");
  EXPECT_TRUE(wanted(pod, false, api::kReasonGateRemoved));
}

}  // namespace
}  // namespace writes
