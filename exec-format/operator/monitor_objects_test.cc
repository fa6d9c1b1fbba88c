// SPDX-License-Identifier: Apache-2.0
#include "exec-format/operator/monitor_objects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "exec-format/names.h"
#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"
#include "operator/objects/options.h"

namespace exec_format {
namespace {

using kube::Json;

operator_::OperandOptions Options() {
  return {.ns = "ops",
          .ns_uid = "u",
          .monitor_image = "r.io/monitor:1",
          .architectures = {"amd64", "arm64"},
          .image_pull_secrets = {"pull"}};
}

Json Find(const kube::Resource& resource, const std::string& name, const std::string& ns) {
  for (const operator_::DesiredObject& object : MonitorObjects(Options())) {
    if (object.resource.kind == resource.kind && object.Key() == kube::ObjectKey{ns, name})
      return object.body;
  }
  ADD_FAILURE() << "no " << resource.kind << " " << ns << "/" << name;
  return Json::object();
}

Json Pod() {
  Json set = Find(kube::kDaemonSets, std::string(kMonitorName), std::string(kMonitorNamespace));
  return set["spec"]["template"]["spec"];
}

TEST(MonitorObjectsTest, TheNamespaceIsFirstAndGoesWithTheOperators) {
  operator_::DesiredObjects objects = MonitorObjects(Options());
  EXPECT_EQ(objects.front().resource.kind, "Namespace");
  const Json& metadata = objects.front().body["metadata"];
  EXPECT_EQ(metadata["labels"]["pod-security.kubernetes.io/enforce"], "privileged");
  EXPECT_EQ(metadata["ownerReferences"][0]["name"], "ops");
  EXPECT_EQ(metadata["ownerReferences"][0]["uid"], "u");
}

// No mount and no namespace of the host, and of all capabilities two.
TEST(MonitorObjectsTest, ThePodHasTheLeastRightsThatWork) {
  Json pod = Pod();
  for (const char* field : {"volumes", "hostPID", "hostNetwork", "hostIPC"})
    EXPECT_FALSE(pod.contains(field)) << field;
  ASSERT_EQ(pod["containers"].size(), 1u);
  const Json context = pod["containers"][0]["securityContext"];
  EXPECT_FALSE(context.contains("privileged"));
  EXPECT_EQ(context["allowPrivilegeEscalation"], false);
  EXPECT_EQ(context["readOnlyRootFilesystem"], true);
  EXPECT_EQ(context["capabilities"], kube::MustParseJson(R"({"add":["BPF","PERFMON"],
                                                             "drop":["ALL"]})"));
  EXPECT_EQ(context["seccompProfile"]["type"], "RuntimeDefault");
  const Json resources = pod["containers"][0]["resources"];
  EXPECT_EQ(resources["limits"]["memory"], "64Mi");
  EXPECT_EQ(resources["limits"]["cpu"], "100m");
}

TEST(MonitorObjectsTest, ItRunsOnEveryNodeOfItsArchitectures) {
  Json pod = Pod();
  EXPECT_EQ(pod["tolerations"], kube::MustParseJson(R"([{"operator":"Exists"}])"));
  const std::string affinity = kube::DumpJson(pod["affinity"]);
  EXPECT_THAT(affinity, testing::HasSubstr(R"("values":["amd64","arm64"])"));
  EXPECT_EQ(pod["containers"][0]["image"], "r.io/monitor:1");
  EXPECT_EQ(pod["imagePullSecrets"][0]["name"], "pull");
}

TEST(MonitorObjectsTest, ItsRightsAreBoundToItsAccountAlone) {
  Json findings = Find(kube::kRoleBindings, "exec-format-error-findings", "ops");
  EXPECT_EQ(findings["roleRef"]["kind"], "ClusterRole");
  EXPECT_EQ(findings["subjects"],
            kube::MustParseJson(R"([{"kind":"ServiceAccount","name":"exec-format-error-monitor",
                                     "namespace":"openshift-multiarch-exec-format-errors"}])"));
  Json reasons = Find(kube::kRoleBindings, "exec-format-error-monitor-reasons",
                      std::string(kMonitorNamespace));
  EXPECT_EQ(reasons["subjects"][0]["namespace"], "ops");
}

}  // namespace
}  // namespace exec_format
