// SPDX-License-Identifier: Apache-2.0
#include "exec-format/e_no_exec_event.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "kube/codec/yaml.h"

namespace exec_format {
namespace {

using kube::Json;

ENoExecEvent Whole() {
  ENoExecEvent event;
  event.mutable_metadata()->set_name("e1");
  event.node_name = "node-a";
  event.pod_name = "web-0";
  event.pod_namespace = "shop";
  event.pod_uid = "15778196-6e1f-4b5d-8012-12c7bf5c04b3";
  event.container_id = "containerd://" + std::string(64, 'a');
  event.command = "/app/server";
  event.program = "ELF 64-bit arm64";
  return event;
}

TEST(ENoExecEventTest, IsReadAsItWasWritten) {
  ENoExecEvent event = Whole();
  auto read = ENoExecEvent::FromJson(event.ToJson());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->metadata().name(), "e1");
  EXPECT_EQ(read->ToJson(), event.ToJson());
}

TEST(ENoExecEventTest, FieldsThatAreUnknownAreNotWritten) {
  ENoExecEvent event = Whole();
  event.pod_name.clear();
  EXPECT_FALSE(event.ToJson()["status"].contains("podName"));
}

TEST(ENoExecEventTest, FieldsOfAnotherTypeAreEmpty) {
  for (const char* text : {R"({"status": []})", R"({"status": {"nodeName": 7, "podUID": null}})",
                           R"({"spec": {}})", R"([])"}) {
    auto read = ENoExecEvent::FromJson(kube::MustParseJson(text));
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->node_name, "") << text;
    EXPECT_EQ(read->pod_uid, "") << text;
  }
}

// An API server drops a field that the CRD does not have.
TEST(ENoExecEventTest, TheCrdHasItsFields) {
  std::ifstream file("exec-format/crds/enoexecevents.yaml");
  std::stringstream text;
  text << file.rdbuf();
  auto documents = kube::ParseYamlDocuments(text.str());
  ASSERT_TRUE(documents && documents->size() == 1);
  const Json& crd = documents->front();
  constexpr kube::Resource kResource = kube::ResourceOf<ENoExecEvent>::value;
  EXPECT_EQ(kube::StringAt(crd, "spec.names.plural"), kResource.plural);
  EXPECT_EQ(kube::StringAt(crd, "spec.names.kind"), kResource.kind);
  EXPECT_EQ(kube::StringAt(crd, "spec.scope"), "Namespaced");
  const Json& version = crd["spec"]["versions"][0];
  EXPECT_EQ(kube::StringAt(version, "name"), kResource.version);
  EXPECT_TRUE(kube::Find(version, "subresources.status"));
  std::set<std::string> properties, written;
  const Json* schema = kube::Find(version, "schema.openAPIV3Schema.properties.status.properties");
  ASSERT_TRUE(schema);
  for (const auto& [name, property] : schema->items()) {
    properties.insert(name);
    EXPECT_GT(kube::IntAt(property, "maxLength"), 0) << name;
  }
  Json event = Whole().ToJson();
  for (const auto& [name, value] : event["status"].items()) written.insert(name);
  EXPECT_EQ(properties, written);
  EXPECT_EQ(kube::IntAt((*schema)["command"], "maxLength"), int64_t{kMaxCommand});
}

}  // namespace
}  // namespace exec_format
