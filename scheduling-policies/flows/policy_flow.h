// SPDX-License-Identifier: Apache-2.0
// PolicyFlow: the fixture of flows about scheduling policies. Both kinds are served. The operator
// does not gate the pods of the scene, unless GatePods() is called.
#pragma once

#include <string>
#include <vector>

#include "e2e/framework/flow_fixture.h"
#include "scheduling-policies/scheduling_policy.h"

namespace e2e {

class PolicyFlow : public FlowFixture {
 protected:
  void SetUp() override;
  void TearDown() override;

  void GatePods();
  // The plugin schedulingPolicies, until TearDown().
  void EnablePolicies();

  // Creates `object` without storing it.
  kube::Result<> DryRun(const Resource& kind, const Json& object);
  // The kind with its schema in a group of its own, which no webhook validates, until TearDown().
  kube::Result<Resource> ServeWithoutWebhook(const Resource& kind);
  // A ClusterPodSchedulingPolicy "p".
  static Json ClusterPolicy(const std::string& spec);

 private:
  kube::Result<> Serve(const Json& crd, const Resource& kind);

  std::vector<Resource> created_;  // CRDs of this test
  bool enabled_ = false;
};

}  // namespace e2e
