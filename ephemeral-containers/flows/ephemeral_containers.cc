// SPDX-License-Identifier: Apache-2.0
// The plugin ephemeralContainerWarnings: who adds an ephemeral container gets a warning of the API
// server if the image, which is in a real registry, is not for the node of the pod. Without the
// plugin, nothing of the webhook is left.
#include "e2e/framework/flow_fixture.h"
#include "ephemeral-containers/flows/warning_conditions.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;
using Warnings = std::vector<std::string>;

// Adds an ephemeral container to a pod, by its subresource. Returns: the warnings of the API
// server.
Result<Warnings> Add(Scene& scene, const std::string& pod, const std::string& container,
                     const std::string& image, bool dry_run) {
  Json added = {{"name", container}, {"image", image}};
  Json patch = {{"spec", {{"ephemeralContainers", Json::array({std::move(added)})}}}};
  kube::ApiRequest request{.method = kube::Method::kPatch,
                           .target = kPods.Path(scene.ns(), pod) + "/ephemeralcontainers" +
                                     (dry_run ? "?dryRun=All" : ""),
                           .content_type = std::string(kube::kStrategicMergePatch),
                           .body = kube::DumpJson(patch)};
  auto answer = scene.cluster().Run(scene.cluster().client().Call(std::move(request)));
  if (!answer) return answer.error();
  return std::move(answer->warnings);
}

// A dry run that would add the image causes one warning with all `words`.
Condition WarnsOf(const std::string& image, const std::string& pod, const Warnings& words) {
  return {.name = "a warning about " + image, .holds = [=](Scene& scene) -> Result<> {
            auto warnings = Add(scene, pod, "debugger", image, /*dry_run=*/true);
            if (!warnings) return warnings.error();
            std::string all = kube::DumpJson(Json(*warnings));
            if (warnings->size() != 1) return Error::NotFound("warnings: " + all);
            for (const std::string& word : words) {
              if (all.find(word) == std::string::npos) return Error::NotFound(word + " in " + all);
            }
            return Ok();
          }};
}

// The container is added, with so many warnings.
Step AddTo(const std::string& pod, const std::string& container, const std::string& image,
           size_t count) {
  return {.name = "add " + image + " to " + pod, .act = [=](Scene& scene) -> Result<> {
            auto warnings = Add(scene, pod, container, image, /*dry_run=*/false);
            if (!warnings) return warnings.error();
            if (warnings->size() == count) return Ok();
            return Error::Invalid(kube::DumpJson(Json(*warnings)));
          }};
}
Step AddSilently(const std::string& container, const std::string& image, const std::string& pod) {
  return AddTo(pod, container, image, 0);
}

class EphemeralContainersFlow : public FlowFixture {
 protected:
  void TearDown() override {
    Result<> without = UseClusterConfig(DefaultClusterConfig());
    EXPECT_TRUE(without) << without.error();
    Flow(scene(), "the plugin is off").Await(WarningWebhookRemoved());
    FlowFixture::TearDown();
  }

  void EnableWarnings() {
    Result<> used = UseClusterConfig(
        DefaultClusterConfig().Set("/spec/plugins/ephemeralContainerWarnings/enabled", true));
    ASSERT_TRUE(used) << used.error();
  }
  // On a node of this architecture, which runs it whatever its image is.
  PodBuilder PodOn(const std::string& name, const std::string& architecture) {
    return MakePod(name)
        .Image(Image("demo/multi:1"))
        .PullSecret("absent")
        .Set("/spec/nodeName", "node-" + architecture);
  }
};

TEST_F(EphemeralContainersFlow, AnImageThatIsNotForTheNodeIsAWarning) {
  EnableWarnings();
  PodBuilder opted_out = PodOn("opted-out", "arm64").Label(std::string(api::kExcludeLabel), "");
  Flow flow(scene(), "ephemeral containers");
  flow.Do(Create(PodOn("web", "arm64")))
      .Do(Create(PodOn("other", "amd64")))
      .Do(Create(opted_out))
      .Await(WarnsOf(
          Image("demo/amd64:1"), "web",
          {Image("demo/amd64:1"), "debugger", "is not for arm64, the architecture of the node",
           "node-arm64", "it is for amd64"}))
      .Check(WarnsOf(Image("demo/ppc64le-s390x:1"), "web", {"it is for ppc64le, s390x"}))
      // An index that has the architecture, an image for the node, and what cannot be inspected.
      .Do(AddSilently("multi", Image("demo/multi:1"), "web"))
      .Do(AddSilently("arm64", Image("demo/arm64:1"), "web"))
      .Do(AddSilently("absent", Image("demo/absent:1"), "web"))
      .Do(AddSilently("amd64", Image("demo/amd64:1"), "other"))
      .Do(AddSilently("amd64", Image("demo/amd64:1"), "opted-out"))
      // One that the pod has already causes none.
      .Do(AddTo("web", "amd64", Image("demo/amd64:1"), 1))
      .Do(AddSilently("multi-again", Image("demo/multi:1"), "web"));
}

TEST_F(EphemeralContainersFlow, WithoutThePluginNothingIsLeft) {
  EnableWarnings();
  Flow flow(scene(), "the plugin is switched off");
  flow.Do(Create(PodOn("web", "arm64")))
      .Await(WarnsOf(Image("demo/amd64:1"), "web", {"is not for arm64"}));
  Result<> without = UseClusterConfig(DefaultClusterConfig());
  ASSERT_TRUE(without) << without.error();
  flow.Await(WarningWebhookRemoved()).Do(AddSilently("debugger", Image("demo/amd64:1"), "web"));
}

}  // namespace
}  // namespace e2e
