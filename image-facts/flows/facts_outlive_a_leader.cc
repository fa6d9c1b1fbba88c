// SPDX-License-Identifier: Apache-2.0
// What one leader of the cluster controller has learned about public images is known to the next
// one, whatever has become of the registry.
#include <cstdlib>
#include <optional>
#include <string>

#include "api/names.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/cluster_harness/stop_programs.h"
#include "e2e/framework/flow_fixture.h"
#include "image-facts/image_facts.h"
#include "inspection/base/manifest.h"
#include "inspection/testing/docker_registry.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using inspection::DockerRegistry;
using kube::Error;
using kube::Ok;
using kube::Result;

class ImageFactsFlow : public FlowFixture {
 protected:
  void SetUp() override {
    constexpr inspection::RegistryProgram kProgram = inspection::RegistryProgram::kDebian;
    if (!IsInstalled(kProgram)) GTEST_SKIP() << HowToInstall(kProgram);
    FlowFixture::SetUp();
    const char* tmp = std::getenv("TEST_TMPDIR");
    std::string folder = std::string(tmp == nullptr ? "/tmp" : tmp) + "/" + scene().ns();
    registry_.emplace(inspection::DockerRegistryOptions{
        .program = kProgram, .folder = folder, .storage = folder + "/storage"});
    inspection::Publisher publisher(cluster().io(), registry_->port(), "");
    publisher.PushImage("team/app", "1", {"linux", "s390x"}, inspection::kOciManifest);
    image_ = registry_->host() + "/team/app:1";
    Result<> known = UseClusterConfig(
        DefaultClusterConfig().Set("/spec/inspectionRetryPeriod", "1h"),
        "[[registry]]\nlocation = \"" + registry_->host() + "\"\ninsecure = true\n");
    ASSERT_TRUE(known) << known.error();
  }

  // An ImageFacts object has the image.
  Condition IsStored(const std::string& image) {
    return {.name = image + " is stored", .holds = [this, image](Scene&) -> Result<> {
              kube::ListOptions options{.ns = cluster().operator_namespace()};
              auto objects = cluster().Run(
                  kube::List<image_facts::ImageFacts>(cluster().client(), std::move(options)));
              if (!objects) return objects.error();
              for (const image_facts::ImageFacts& object : objects->items) {
                for (const image_facts::ImageFact& fact : object.facts)
                  if (fact.image == image) return Ok();
              }
              return Error::NotFound("no ImageFacts object has it");
            }};
  }

  std::optional<DockerRegistry> registry_;
  std::string image_;
};

TEST_F(ImageFactsFlow, ANewLeaderPlacesPodsThoughTheRegistryIsGone) {
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
