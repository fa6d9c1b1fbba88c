// SPDX-License-Identifier: Apache-2.0
#include "plugin/pod/policy_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/testing/make_pod.h"

namespace plugin {
namespace {

using ::testing::ElementsAre;

policy::SchedulingPolicy Make(const std::string& name, const std::string& app,
                              policy::Scope scope = policy::Scope::kNamespace) {
  kube::Json json = {
      {"metadata", {{"name", name}}},
      {"spec",
       {{"podSelector", {{"matchLabels", {{"app", app}}}}}, {"nodeSelector", {{"disk", "ssd"}}}}}};
  if (scope == policy::Scope::kNamespace) {
    json["metadata"]["namespace"] = "shop";
  } else {
    json["spec"]["namespaceSelector"] = kube::Json::object();
  }
  return *policy::SchedulingPolicy::FromJson(json, scope);
}

TEST(PolicyLinesTest, ThoseThatSelectThePodComeFirst) {
  PodEvidence evidence;
  evidence.pod = kube::MakePod("web").Namespace("shop").Label("app", "web");
  evidence.around->ns.emplace().mutable_metadata()->set_name("shop");
  evidence.around->policies = {Make("db", "db"), Make("web", "web"),
                               Make("all", "web", policy::Scope::kCluster),
                               Make("other", "db", policy::Scope::kCluster)};
  std::vector<std::string> lines;
  for (const PolicyLine& line : DescribePolicies(evidence))
    lines.push_back((line.selects ? "+" : "-") + line.name + ": " + line.text);
  EXPECT_THAT(lines,
              ElementsAre("+ClusterPodSchedulingPolicy all: ", "+PodSchedulingPolicy shop/web: ",
                          "-PodSchedulingPolicy shop/db: it selects app=db"));
}

}  // namespace
}  // namespace plugin
