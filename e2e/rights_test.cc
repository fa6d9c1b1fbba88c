// SPDX-License-Identifier: Apache-2.0
// Rights of the roles that no flow uses. Runs after the integration tier, whose shards write what
// they used:
//
//   rights_test SHARDS FOLDER    // FOLDER: bazel-testlogs/e2e/integration_test
//
// Rights that a program lacks are found by each shard.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "api/names.h"
#include "e2e/cluster_harness/rbac_audit.h"
#include "e2e/cluster_harness/shard_rights.h"

namespace e2e {
namespace {

const std::vector<UnusedRight> kUnusedByFlows = {
    {"multiarch-tuning-operator: update secrets", "used to renew certificates, after months"},
    {"multiarch-tuning-operator: update secrets pod-placement-shard-web-hook", "the same"},
    {"multiarch-tuning-operator: get pods",
     "used after a conflict, which does not happen in every run"},
    {"pod-placement-shard-controller: get pods", "the same"},
    {"multiarch-tuning-operator: get podplacementconfigs.multiarch.openshift.io",
     "the API server demands it of who writes a policy with them as parameters"},
    {"pod-placement-controller: get images.config.openshift.io cluster", "OpenShift"},
    {"pod-placement-controller: list imagedigestmirrorsets.config.openshift.io", "OpenShift"},
    {"pod-placement-controller: list imagetagmirrorsets.config.openshift.io", "OpenShift"},
    {"pod-placement-controller: list imagecontentsourcepolicies.operator.openshift.io",
     "OpenShift"},
    {"pod-placement-controller: get configmaps",
     "OpenShift: additionalTrustedCA in namespace openshift-config"},
    {"pod-placement-controller: get configmaps image-registry-certificates",
     "OpenShift: in namespace openshift-image-registry"},
    {"pod-placement-ephemeral-containers-web-hook: get images.config.openshift.io cluster",
     "OpenShift"},
    {"pod-placement-ephemeral-containers-web-hook: list imagedigestmirrorsets.config.openshift.io",
     "OpenShift"},
    {"pod-placement-ephemeral-containers-web-hook: list imagetagmirrorsets.config.openshift.io",
     "OpenShift"},
    {"pod-placement-ephemeral-containers-web-hook: list "
     "imagecontentsourcepolicies.operator.openshift.io",
     "OpenShift"},
    {"pod-placement-ephemeral-containers-web-hook: get configmaps",
     "OpenShift: additionalTrustedCA in namespace openshift-config"},
    {"pod-placement-ephemeral-containers-web-hook: get configmaps image-registry-certificates",
     "OpenShift: in namespace openshift-image-registry"},
    {"multiarch-tuning-operator: use securitycontextconstraints.security.openshift.io",
     "OpenShift's admission uses it"},
    {"pod-placement-controller: use securitycontextconstraints.security.openshift.io", "the same"},
    {"pod-placement-policy-web-hook: create tokenreviews.authentication.k8s.io",
     "the flow of alerts, of the part `long`, reads its metrics"},
    {"pod-placement-policy-web-hook: create subjectaccessreviews.authorization.k8s.io", "the same"},
    {"pod-placement-ephemeral-containers-web-hook: create tokenreviews.authentication.k8s.io",
     "the same"},
    {"pod-placement-ephemeral-containers-web-hook: create "
     "subjectaccessreviews.authorization.k8s.io",
     "the same"},
    {"multiarch-tuning-operator: watch secrets",
     "granted to the controller, for the Secret of globalPullSecretRef"},
    {"multiarch-tuning-operator: bind clusterroles.rbac.authorization.k8s.io "
     "pod-placement-suspended-jobs",
     "the API server demands it of who writes a binding"},
    {"multiarch-tuning-operator: bind clusterroles.rbac.authorization.k8s.io "
     "pod-placement-daemon-set-report",
     "the same"},
    {"multiarch-tuning-operator: bind clusterroles.rbac.authorization.k8s.io "
     "pod-placement-daemon-set-templates",
     "the same"},
    {"multiarch-tuning-operator: bind clusterroles.rbac.authorization.k8s.io "
     "exec-format-error-findings",
     "the same"},
    {"multiarch-tuning-operator: bind clusterroles.rbac.authorization.k8s.io "
     "exec-format-error-monitor",
     "the same"},
    {"multiarch-tuning-operator: bind clusterroles.rbac.authorization.k8s.io "
     "exec-format-error-monitor-reasons",
     "the same"},
    {"multiarch-tuning-operator: list events",
     "used while a monitor of exec format errors does not work"},
    {"pod-placement-controller: update imagefindings.multiarch.openshift.io",
     "used for what is found again after a day"},
    {"pod-placement-policy-web-hook: get namespaces",
     "used for a namespace that is newer than the watch"},
    {"pod-placement-controller: list secrets global-pull",
     "for API servers without streaming lists"},
    {"pod-placement-controller: list secrets pull-secret", "on OpenShift alone"},
    {"pod-placement-controller: watch secrets pull-secret", "on OpenShift alone"},
};

int shards = 0;
std::string folder;

TEST(RightsTest, EachIsUsedByAFlow) {
  auto audit = ReadShardRights(folder, shards, std::string(api::kDefaultOperatorNamespace));
  ASSERT_TRUE(audit) << audit.error();
  std::cout << "RBAC: " << audit->requests() << " requests of " << audit->users().size()
            << " programs in " << shards << " shards" << std::endl;
  EXPECT_THAT(audit->Unused(kUnusedByFlows), testing::IsEmpty())
      << "in operator/manifests or operator/objects";
}

}  // namespace
}  // namespace e2e

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 3) {
    std::cerr << "usage: rights_test SHARDS FOLDER" << std::endl;
    return 2;
  }
  e2e::shards = std::atoi(argv[1]);
  e2e::folder = argv[2];
  return RUN_ALL_TESTS();
}
