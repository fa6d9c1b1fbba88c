// SPDX-License-Identifier: Apache-2.0
// A hot image stays known, as its registry is asked again in the background; a private one only
// while its Secret is there.
#include <chrono>
#include <string>

#include "image-facts/flows/facts_fixture.h"
#include "image-facts/lifetime.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

class HotImagesFlow : public PrivateFactsFixture {};

TEST_F(HotImagesFlow, AHotImageStaysKnownUntilItsSecretIsDeleted) {
  Result<> used = UseConfig(PlacingConfig());
  ASSERT_TRUE(used) << used.error();
  const PodBuilder probe = MakePod("probe").Image(image_).PullSecret("right");
  const Condition placed = IsPlaced(probe);
  int lost = 0;
  // Each look is a dry run: no pod is gated in that time, so nothing else asks the registry.
  auto start = std::chrono::steady_clock::time_point::max();
  const Condition stays{.name = "the image stays known for longer than a fact counts",
                        .holds = [&](Scene& scene) -> Result<> {
                          const auto now = std::chrono::steady_clock::now();
                          start = std::min(start, now);
                          if (!placed.holds(scene)) ++lost;
                          return now - start > 2 * image_facts::kPullSecretLifetime
                                     ? Ok()
                                     : Result<>(Error::NotFound("later"));
                        }};
  Flow flow(scene(), "a hot image of a private registry");
  flow.Do(CreateSecret("right", "secret"))
      .Do(Create(MakePod("first").Image(image_).PullSecret("right")))
      .Await(Requires("first", {"s390x"}))
      .Await(placed)
      .Await(stays, 240s)
      .Do(Delete(kSecrets, "right"))
      .Await(IsPlaced(probe, /*placed=*/false), 150s);
  EXPECT_EQ(lost, 0);
}

}  // namespace
}  // namespace e2e
