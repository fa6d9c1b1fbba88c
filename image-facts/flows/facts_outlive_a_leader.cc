// SPDX-License-Identifier: Apache-2.0
// What one leader of the cluster controller has learned about public images is known to the next
// one, whatever has become of the registry.
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/stop_programs.h"
#include "image-facts/flows/facts_fixture.h"

namespace e2e {
namespace {

class ImageFactsFlow : public FactsFixture {};

TEST_F(ImageFactsFlow, ANewLeaderPlacesPodsThoughTheRegistryIsGone) {
  kube::Result<> known = UseConfig(DefaultClusterConfig().Set("/spec/inspectionRetryPeriod", "1h"));
  ASSERT_TRUE(known) << known.error();
  const std::vector<ProgramIn> controllers = {
      {"cluster-controller", cluster().operator_namespace()}};
  Flow flow(scene(), "facts outlive a leader");
  flow.Do(Create(MakePod("before").Image(image_)))
      .Await(Requires("before", {"s390x"}))
      .Await(IsStored(image_));
  if (flow.failed()) return;
  registry_.reset();
  flow.Do(StopPrograms(controllers)).Await(NoProcessOf(controllers));
  StartPrograms(controllers);
  // Without the fact, its image could not be inspected before an hour has passed.
  flow.Do(Create(MakePod("after").Image(image_)))
      .Await(Requires("after", {"s390x"}))
      .Never(GateRemovedWithoutItsDecision());
}

}  // namespace
}  // namespace e2e
