// SPDX-License-Identifier: Apache-2.0
#include "image-facts/flows/facts_fixture.h"

#include <algorithm>
#include <cstdlib>

#include "api/known_images.h"
#include "e2e/framework/pod_history.h"
#include "image-facts/image_facts.h"
#include "inspection/base/manifest.h"
#include "kube/base/base64.h"
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
  registry_.emplace(inspection::DockerRegistryOptions{.program = kProgram,
                                                      .folder = folder,
                                                      .storage = folder + "/storage",
                                                      .password = WantsPassword()});
  inspection::Publisher publisher(
      cluster().io(), registry_->port(),
      WantsPassword() ? "Basic " + kube::Base64Encode("u:secret") : std::string());
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

Condition FactsFixture::IsPlaced(const PodBuilder& pod, bool placed) {
  return {.name = std::string("a pod would be ") + (placed ? "placed" : "gated"),
          .holds = [object = pod.Build(), placed](Scene& scene) -> Result<> {
            Result<Json> pod = scene.CreateInADryRun(kPods, object);
            if (!pod) return pod.error();
            // Neither while no webhook answers.
            const Json* labels = kube::Find(*pod, "metadata.labels");
            bool has_label =
                labels != nullptr && labels->contains(std::string(api::kPlacedAtCreationLabel));
            if (has_label == IsGated(*pod)) return Error::Internal("placed and gated, or neither");
            return has_label == placed ? Ok() : Result<>(Error::NotFound("gated or placed"));
          }};
}

Condition FactsFixture::WasGated(const std::string& pod, bool wanted) {
  return {.name = pod + (wanted ? " was gated" : " was never gated"),
          .holds = [pod, wanted](Scene& scene) -> Result<> {
            const PodHistory* history = scene.pods().Find(pod);
            if (history == nullptr) return Error::NotFound("pod " + pod);
            bool gated = std::any_of(history->events.begin(), history->events.end(),
                                     [](const PodEvent& event) { return IsGated(event.pod); });
            return gated == wanted ? Ok() : Result<>(Error::Invalid("it is the reverse"));
          },
          .pod = pod};
}

}  // namespace e2e
