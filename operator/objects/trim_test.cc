// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/trim.h"

#include <gtest/gtest.h>

namespace operator_ {
namespace {

using kube::Json;

TEST(TrimTest, KeepsWhatTheOperatorLooksAt) {
  Json deployment = *kube::ParseJson(R"({
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 2,
                 "labels": {"a.b/c": "d"}, "managedFields": [{}],
                 "annotations": {"multiarch.openshift.io/applied-hash": "h", "other": "x"}},
    "spec": {"replicas": 1, "template": {"spec": {}}},
    "status": {"observedGeneration": 2, "availableReplicas": 1, "conditions": [{"type": "Available"}], "x": 1}})");
  EXPECT_EQ(TrimOperand(deployment), *kube::ParseJson(R"({
    "metadata": {"name": "d", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 2,
                 "labels": {"a.b/c": "d"}, "annotations": {"multiarch.openshift.io/applied-hash": "h"}},
    "spec": {"replicas": 1},
    "status": {"observedGeneration": 2, "availableReplicas": 1, "conditions": [{"type": "Available"}]}})"));
}

TEST(TrimTest, KeepsNothingOfTheBodyOfOtherKinds) {
  Json role = *kube::ParseJson(R"({"kind": "Role", "metadata": {"name": "r"}, "rules": [{}]})");
  EXPECT_EQ(TrimOperand(role), *kube::ParseJson(R"({"metadata": {"name": "r"}})"));
}

TEST(TrimTest, SurvivesAnythingThatIsNoObject) {
  EXPECT_EQ(TrimOperand(Json(3)), Json::object());
  EXPECT_EQ(TrimOperand(*kube::ParseJson(R"({"metadata": {"annotations": 1}})")),
            *kube::ParseJson(R"({"metadata": {}})"));
}

}  // namespace
}  // namespace operator_
