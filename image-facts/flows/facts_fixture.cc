// SPDX-License-Identifier: Apache-2.0
#include "image-facts/flows/facts_fixture.h"

#include <cstdlib>

#include "api/known_images.h"
#include "e2e/framework/pod_history.h"
#include "image-facts/image_facts.h"
#include "inspection/base/manifest.h"
#include "kube/client/typed.h"

namespace e2e {

using kube::Error;
using kube::Ok;
using kube::Result;

void FactsFixture::SetUp() {
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
}

Result<> FactsFixture::UseConfig(const ClusterConfigBuilder& config) {
  return UseClusterConfig(
      config, "[[registry]]\nlocation = \"" + registry_->host() + "\"\ninsecure = true\n");
}

Condition FactsFixture::IsStored(const std::string& image) {
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

Condition FactsFixture::IsPlaced(const std::string& image, bool placed) {
  return {.name = image + (placed ? " is known" : " is not known"),
          .holds = [image, placed](Scene& scene) -> Result<> {
            Result<Json> pod = scene.CreateInADryRun(kPods, MakePod("probe").Image(image).Build());
            if (!pod) return pod.error();
            // Neither while no webhook answers.
            const Json* labels = kube::Find(*pod, "metadata.labels");
            bool has_label =
                labels != nullptr && labels->contains(std::string(api::kPlacedAtCreationLabel));
            if (has_label == IsGated(*pod)) return Error::Internal("placed and gated, or neither");
            return has_label == placed ? Ok() : Result<>(Error::NotFound("gated or placed"));
          }};
}

}  // namespace e2e
