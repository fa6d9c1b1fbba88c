// SPDX-License-Identifier: Apache-2.0
// What the cluster controller does with a pod whose image does not run where its index says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "cluster-controller/findings/image_findings.h"
#include "cluster-controller/testing/pod_reconciler_fixture.h"
#include "kube/testing/matchers.h"

namespace cluster_controller {
namespace {

using kube::IsOk;
using kube::core::Pod;
using placement::ArchitectureSet;

class PlacedByFindingsTest : public PodReconcilerTest {};

TEST_F(PlacedByFindingsTest, AnArchitectureWhereAnImageDoesNotRunIsNotRequired) {
  ImageFindings findings;
  findings.Put("f", {.digest = "sha256:1", .architecture = "arm64"});
  inspector_.Use(&findings);
  images_.SetResult("r.io/app:1", ArchitectureSet{"amd64", "arm64"});
  images_.SetDigest("r.io/app:1", "sha256:1");
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_FALSE(Gated());
  EXPECT_EQ(Required(), ArchitectureSet{"amd64"});
  EXPECT_THAT(Events(), ::testing::Contains(api::kReasonImageFinding));
  inspector_.Use(nullptr);
}

TEST_F(PlacedByFindingsTest, IndexesAreBelievedIfNoArchitectureIsLeft) {
  ImageFindings findings;
  findings.Put("f", {.digest = "sha256:1", .architecture = "arm64"});
  findings.Put("g", {.digest = "sha256:1", .architecture = "amd64"});
  inspector_.Use(&findings);
  images_.SetResult("r.io/app:1", ArchitectureSet{"amd64", "arm64"});
  images_.SetDigest("r.io/app:1", "sha256:1");
  api_.Create<Pod>(GatedPod());
  EXPECT_THAT(Reconcile(), IsOk());
  EXPECT_EQ(Required(), (ArchitectureSet{"amd64", "arm64"}));
  EXPECT_THAT(Events(), ::testing::Contains(api::kReasonImageFindingIgnored));
  inspector_.Use(nullptr);
}

}  // namespace
}  // namespace cluster_controller
