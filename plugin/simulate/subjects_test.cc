// SPDX-License-Identifier: Apache-2.0
#include "plugin/simulate/subjects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace plugin {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SubjectsTest, PodsAndTemplates) {
  auto read = ReadManifests(R"(
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: one}}
spec:
  containers: [{name: a, image: r.io/one:1}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: bank}
spec:
  template:
    metadata: {labels: {app: web}}
    spec:
      nodeSelector: {disk: ssd}
      serviceAccountName: web
      imagePullSecrets: [{name: key}]
      containers: [{name: a, image: r.io/web:1}]
---
apiVersion: v1
kind: List
items:
- kind: CronJob
  metadata: {name: nightly}
  spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: r.io/job:1}]}}}}}
- kind: Service
  metadata: {name: web}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {template: {spec: {containers: [{name: a, image: r.io/agent:1}]}}}
)",
                            "shop");
  ASSERT_TRUE(read) << read.error();
  std::vector<std::string> names;
  for (const Subject& subject : read->subjects)
    names.push_back(subject.Name() + " " + subject.pod.spec().containers(0).image());
  EXPECT_THAT(names,
              ElementsAre("Pod shop/one r.io/one:1", "Deployment bank/web r.io/web:1",
                          "CronJob shop/nightly r.io/job:1", "DaemonSet shop/agent r.io/agent:1"));
  EXPECT_THAT(read->others, ElementsAre("Service web"));
  const kube::core::Pod& web = read->subjects[1].pod;
  EXPECT_EQ(web.metadata().labels().at("app"), "web");
  EXPECT_EQ(web.spec().node_selector().at("disk"), "ssd");
  EXPECT_EQ(web.spec().service_account_name(), "web");
  EXPECT_EQ(web.spec().image_pull_secrets(0).name(), "key");
  EXPECT_EQ(read->subjects[0].pod.spec().service_account_name(), "default");
  EXPECT_EQ(read->subjects[3].pod.metadata().owner_references(0).kind(), "DaemonSet");
}

TEST(SubjectsTest, Configs) {
  auto read = ReadManifests(R"(
kind: PodPlacementConfig
metadata: {name: web}
spec:
  priority: 3
  plugins: {nodeAffinityScoring: {enabled: true, platforms: [{architecture: arm64, weight: 5}]}}
)",
                            "shop");
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->configs.size(), 1u);
  EXPECT_EQ(read->configs[0].metadata().namespace_(), "shop");
  EXPECT_EQ(read->configs[0].spec.priority, 3);
}

TEST(SubjectsTest, WhatIsWrongIsNamed) {
  struct Row {
    const char* text;
    const char* error;
  };
  const Row rows[] = {
      {"a: [", "line"},
      {"", "no pod"},
      {"kind: Service\nmetadata: {name: web}", "no pod"},
      {"metadata: {name: web}", "no kind"},
      {"- 1", "no kind"},
      {"kind: PodPlacementConfig", "no metadata"},
      {"kind: PodPlacementConfig\nmetadata: text", "no metadata"},
      {"kind: PodPlacementConfig\nmetadata: {name: web}\nspec: {priority: 300, plugins: {}}",
       "spec.priority"},
  };
  for (const Row& row : rows) {
    auto read = ReadManifests(row.text, "shop");
    ASSERT_FALSE(read) << row.text;
    EXPECT_THAT(read.error().message(), HasSubstr(row.error)) << row.text;
  }
  // What no API server would accept ends nothing.
  EXPECT_TRUE(ReadManifests("kind: Pod\nmetadata: 7\nspec: {containers: 5}", "shop"));
}

}  // namespace
}  // namespace plugin
