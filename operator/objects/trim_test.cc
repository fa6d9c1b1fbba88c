// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/trim.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace operator_ {
namespace {

using kube::Json;

Json Deployment() {
  return *kube::ParseJson(R"({
    "kind": "Deployment",
    "metadata": {"name": "d", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 2,
                 "labels": {"a.b/c": "d", "app.kubernetes.io/managed-by": "multiarch-tuning-operator",
                            "multiarch.openshift.io/shard-namespace": "ns"},
                 "managedFields": [{}],
                 "annotations": {"other": "x"}},
    "spec": {"replicas": 1, "template": {"spec": {}}},
    "status": {"observedGeneration": 2, "availableReplicas": 1, "conditions": [{"type": "Available"}], "x": 1}})");
}

std::string VersionOf(const Json& object) {
  return kube::StringAt(TrimOperand(object), kContentVersion);
}

TEST(TrimTest, KeepsTheFieldsThatTheOperatorReads) {
  Json trimmed = TrimOperand(Deployment());
  trimmed.erase(kContentVersion);
  trimmed.erase(kOwnedHash);
  EXPECT_EQ(trimmed, *kube::ParseJson(R"({
    "metadata": {"name": "d", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 2,
                 "labels": {"app.kubernetes.io/managed-by": "multiarch-tuning-operator",
                            "multiarch.openshift.io/shard-namespace": "ns"}},
    "spec": {"replicas": 1},
    "status": {"observedGeneration": 2, "availableReplicas": 1, "conditions": [{"type": "Available"}]}})"));
}

// Everyone who may create a ServiceAccount can label it so that the operator watches it.
TEST(TrimTest, KeepsNoLabelsOfOthers) {
  Json account = *kube::ParseJson(R"({"kind": "ServiceAccount", "metadata": {"name": "a"}})");
  for (int i = 0; i < 1'000; ++i)
    account["metadata"]["labels"]["example.com/" + std::to_string(i)] = std::string(63, 'x');
  EXPECT_LT(kube::DumpJson(TrimOperand(account)).size(), 500u);
}

TEST(TrimTest, KeepsNothingOfTheBodyOfOtherKinds) {
  Json role = *kube::ParseJson(
      R"({"kind": "Role", "metadata": {"name": "r", "resourceVersion": "3"}, "rules": [{}]})");
  Json trimmed = TrimOperand(role);
  trimmed.erase(kOwnedHash);
  EXPECT_EQ(trimmed,
            *kube::ParseJson(
                R"({"metadata": {"name": "r", "resourceVersion": "3"}, "contentVersion": "3"})"));
}

TEST(TrimTest, TheContentVersionCoversManualChanges) {
  struct Row {
    const char* name;
    std::function<void(Json&)> change;
    bool noticed;
  };
  const Row rows[] = {
      {"spec", [](Json& object) { object["metadata"]["generation"] = 3; }, true},
      {"label", [](Json& object) { object["metadata"]["labels"]["a.b/c"] = "e"; }, true},
      {"annotation", [](Json& object) { object["metadata"]["annotations"]["new"] = "1"; }, true},
      {"owner", [](Json& object) { object["metadata"]["ownerReferences"] = Json::array({1}); },
       true},
      {"finalizer", [](Json& object) { object["metadata"]["finalizers"] = Json::array({"a/b"}); },
       true},
      {"status", [](Json& object) { object["status"]["availableReplicas"] = 0; }, false},
      {"resourceVersion", [](Json& object) { object["metadata"]["resourceVersion"] = "8"; }, false},
      {"managed fields", [](Json& object) { object["metadata"]["managedFields"] = Json::array(); },
       false},
      {"revision",
       [](Json& object) {
         object["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "2";
       },
       false},
  };
  for (const Row& row : rows) {
    Json object = Deployment();
    row.change(object);
    EXPECT_EQ(VersionOf(object) != VersionOf(Deployment()), row.noticed) << row.name;
  }
}

TEST(TrimTest, AcceptsValuesThatAreNoObjects) {
  EXPECT_EQ(TrimOperand(Json(3)), Json::object());
  Json trimmed =
      TrimOperand(*kube::ParseJson(R"({"kind": "Deployment", "metadata": {"annotations": 1}})"));
  EXPECT_EQ(trimmed["metadata"], Json::object());
}

TEST(TrimTest, AnItemOfAListHasNoKind) {
  Json item = Deployment();
  item.erase("kind");
  EXPECT_EQ(TrimOperand(item), TrimOperand(Deployment()));
}

}  // namespace
}  // namespace operator_
