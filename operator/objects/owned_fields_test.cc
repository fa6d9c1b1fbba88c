// SPDX-License-Identifier: Apache-2.0
#include "operator/objects/owned_fields.h"

#include <gtest/gtest.h>

namespace operator_ {
namespace {

using kube::Json;

constexpr char kManager[] = "us";

// As an API server stores it: with defaults, and a sidecar and a label of others.
Json Stored() {
  return kube::MustParseJson(R"({
    "apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {
      "name": "web", "namespace": "shop", "uid": "1", "labels": {"ours": "1", "theirs": "2"},
      "managedFields": [
        {"manager": "them", "operation": "Update", "fieldsV1": {"f:spec": {"f:replicas": {}}}},
        {"manager": "us", "operation": "Update", "subresource": "status",
         "fieldsV1": {"f:status": {}}},
        {"manager": "us", "operation": "Apply", "fieldsV1": {
          "f:metadata": {"f:labels": {"f:ours": {}}},
          "f:spec": {"f:selector": {}, "f:template": {"f:spec": {
            "f:finalizers": {"v:\"a\"": {}},
            "f:containers": {"k:{\"name\":\"app\"}": {
              ".": {}, "f:name": {}, "f:args": {},
              "f:ports": {"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}": {
                ".": {}, "f:containerPort": {}, "f:protocol": {}}}}}}}}}}]},
    "spec": {"replicas": 3, "selector": {"matchLabels": {"a": "b"}},
      "template": {"spec": {
        "finalizers": ["a", "b"], "restartPolicy": "Always",
        "containers": [
          {"name": "sidecar", "args": ["x"]},
          {"name": "app", "args": ["--one", "--two"], "terminationMessagePath": "/dev/log",
           "ports": [{"containerPort": 9, "protocol": "TCP"},
                     {"containerPort": 8080, "protocol": "TCP", "name": "theirs"}]}]}}},
    "status": {"replicas": 3}})");
}

Json Desired() {
  return kube::MustParseJson(R"({
    "apiVersion": "apps/v1", "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"ours": "1"}},
    "spec": {"selector": {"matchLabels": {"a": "b"}},
      "template": {"spec": {
        "finalizers": ["a"],
        "containers": [{"name": "app", "args": ["--one", "--two"],
                        "ports": [{"containerPort": 8080, "protocol": "TCP"}]}]}}}})");
}

TEST(OwnedFieldsTest, AreWhatWasApplied) {
  EXPECT_EQ(OwnedFields(Stored(), kManager), FieldsToOwn(Desired()));
}

// Only the changed value differs: a result without the other fields would differ as well.
TEST(OwnedFieldsTest, HaveTheNewValueWhenAnAppliedValueWasChanged) {
  struct Row {
    const char* stored;
    const char* owned;
  };
  for (const Row& row :
       {Row{"/metadata/labels/ours", "/metadata/labels/ours"},
        Row{"/spec/selector/matchLabels/a", "/spec/selector/matchLabels/a"},
        Row{"/spec/template/spec/containers/1/args/1", "/spec/template/spec/containers/0/args/1"},
        Row{"/spec/template/spec/containers/1/args", "/spec/template/spec/containers/0/args"}}) {
    Json stored = Stored();
    stored[Json::json_pointer(row.stored)] = "changed";
    Json expected = FieldsToOwn(Desired());
    expected[Json::json_pointer(row.owned)] = "changed";
    EXPECT_EQ(OwnedFields(stored, kManager), expected) << row.stored;
  }
}

TEST(OwnedFieldsTest, LackAnElementWhoseKeyOrValueWasChanged) {
  struct Row {
    const char* stored;
    const char* list;  // empty in the result
  };
  for (const Row& row :
       {Row{"/spec/template/spec/containers/1/name", "/spec/template/spec/containers"},
        Row{"/spec/template/spec/containers/1/ports/1/containerPort",
            "/spec/template/spec/containers/0/ports"},
        Row{"/spec/template/spec/finalizers/0", "/spec/template/spec/finalizers"}}) {
    Json stored = Stored();
    stored[Json::json_pointer(row.stored)] = "changed";
    Json expected = FieldsToOwn(Desired());
    expected[Json::json_pointer(row.list)] = Json::array();
    EXPECT_EQ(OwnedFields(stored, kManager), expected) << row.stored;
  }
}

TEST(OwnedFieldsTest, StayEqualWhenTheFieldsOfOthersChange) {
  for (const char* path :
       {"/metadata/labels/theirs", "/spec/replicas", "/spec/template/spec/restartPolicy",
        "/spec/template/spec/containers/0/args", "/spec/template/spec/containers/0/name",
        "/spec/template/spec/containers/1/ports/1/name", "/spec/template/spec/finalizers/1",
        "/status/replicas"}) {
    Json stored = Stored();
    stored[Json::json_pointer(path)] = "changed";
    EXPECT_EQ(OwnedFields(stored, kManager), FieldsToOwn(Desired())) << path;
  }
}

TEST(OwnedFieldsTest, LackAFieldThatIsNoLongerOwned) {
  Json stored = Stored();
  stored["metadata"]["managedFields"][2]["fieldsV1"]["f:spec"].erase("f:selector");
  Json expected = FieldsToOwn(Desired());
  expected["spec"].erase("selector");
  EXPECT_EQ(OwnedFields(stored, kManager), expected);
  stored["metadata"].erase("managedFields");
  EXPECT_EQ(OwnedFields(stored, kManager), Json::object());
}

TEST(OwnedFieldsTest, DifferWhenAFieldIsNoLongerDesired) {
  Json desired = Desired();
  desired["spec"].erase("selector");
  EXPECT_NE(OwnedFields(Stored(), kManager), FieldsToOwn(desired));
}

// As many as an object of 1.5 MB can have. Comparing them one by one would take minutes.
TEST(OwnedFieldsTest, ManyElementsAndPathsAreNoProblem) {
  Json object, fields;
  for (int i = 0; i < 30'000; ++i) {
    std::string name = std::to_string(i);
    object["list"].push_back({{"name", name}});
    fields["f:list"]["k:{\"name\":\"" + name + "\"}"]["f:name"] = Json::object();
  }
  object["metadata"]["managedFields"] =
      Json::array({{{"manager", kManager}, {"operation", "Apply"}, {"fieldsV1", fields}}});
  EXPECT_EQ(OwnedFields(object, kManager)["list"], object["list"]);
}

TEST(OwnedFieldsTest, ForgedManagedFieldsAreNoError) {
  struct Row {
    const char* fields;
    const char* owned;
  };
  for (const Row& row :
       {Row{R"([])", R"({})"}, Row{R"("text")", R"({})"},
        Row{R"({"f:metadata": [], "f:kind": 1})",
            R"({"metadata": {"name": "web", "namespace": "shop", "labels": {"ours": "1"}},
               "kind": "Deployment"})"},
        Row{R"({"f:spec": {"k:{": {}}})", R"({"spec": {}})"},
        Row{R"({"f:spec": {"f:template": {"f:spec": {"f:containers": {
               "k:[1]": {}, "v:{": {}, "x": {}}}}}})",
            R"({"spec": {"template": {"spec": {"containers": []}}}})"},
        Row{R"({"f:spec": {"f:replicas": {"f:x": {}}}})", R"({"spec": {"replicas": 3}})"}}) {
    Json stored = Stored();
    stored["metadata"].erase("uid");
    stored["metadata"]["labels"].erase("theirs");
    stored["metadata"]["managedFields"][2]["fieldsV1"] = kube::MustParseJson(row.fields);
    Json owned = OwnedFields(stored, kManager);
    if (owned.contains("metadata")) owned["metadata"].erase("managedFields");
    EXPECT_EQ(owned, kube::MustParseJson(row.owned)) << row.fields;
  }
  EXPECT_EQ(OwnedFields(Json::array(), kManager), Json::object());
}

}  // namespace
}  // namespace operator_
