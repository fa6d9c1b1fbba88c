// SPDX-License-Identifier: Apache-2.0
// The plugin imageFindings: a container fails on a node, as a monitor reports; the cluster
// controller reads the program of its image from the registry, and new pods are placed elsewhere.
//
// demo/wrong-program:1 has a program for arm64 in its image for amd64.
#include "api/names.h"
#include "e2e/framework/flow_fixture.h"
#include "exec-format/findings/image_finding.h"
#include "exec-format/flows/reported_container.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using exec_format::ImageFinding;
using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

const std::string kFound(api::kReasonImageFinding);
const std::string kIgnored(api::kReasonImageFindingIgnored);
constexpr char kWrong[] = "demo/wrong-program:1";
constexpr char kRight[] = "demo/multi:1";
// Images are looked at one in ten seconds, those of other flows too.
constexpr std::chrono::seconds kLooked = 90s;

Result<std::vector<ImageFinding>> Findings(Scene& scene) {
  Cluster& cluster = scene.cluster();
  kube::ListOptions options{.ns = cluster.operator_namespace()};
  auto listed = cluster.Run(kube::List<ImageFinding>(cluster.client(), std::move(options)));
  if (!listed) return listed.error();
  return std::move(listed->items);
}

// There is one finding, for pods of `ns` ("": all), or none.
Condition Found(const std::string& architecture, const std::string& ns) {
  return {.name = "a finding says not on " + architecture, .holds = [=](Scene& scene) -> Result<> {
            auto findings = Findings(scene);
            if (!findings) return findings.error();
            for (const ImageFinding& finding : *findings) {
              if (finding.architecture == architecture && finding.ns == ns) return Ok();
            }
            return Error::NotFound(std::to_string(findings->size()) + " others");
          }};
}
Condition NothingFound() {
  return {.name = "there is no finding", .holds = [](Scene& scene) -> Result<> {
            auto findings = Findings(scene);
            if (!findings) return findings.error();
            if (findings->empty()) return Ok();
            return Error::AlreadyExists(kube::DumpJson(findings->front().ToJson()));
          }};
}

Step Ignore() {
  return {.name = "an administrator ignores all findings", .act = [](Scene& scene) -> Result<> {
            auto findings = Findings(scene);
            if (!findings) return findings.error();
            Cluster& cluster = scene.cluster();
            for (ImageFinding& finding : *findings) {
              finding.ignored = true;
              auto updated = cluster.Run(kube::Update(cluster.client(), finding));
              if (!updated) return updated.error();
            }
            return Ok();
          }};
}
Step DeleteFindings() {
  return {.name = "an administrator deletes all findings", .act = [](Scene& scene) -> Result<> {
            auto findings = Findings(scene);
            if (!findings) return findings.error();
            Cluster& cluster = scene.cluster();
            for (const ImageFinding& finding : *findings) {
              auto deleted =
                  cluster.Run(kube::Delete<ImageFinding>(cluster.client(), kube::KeyOf(finding)));
              if (!deleted && !IsNotFound(deleted)) return deleted.error();
            }
            return Ok();
          }};
}

class ImageFindingsFlow : public FlowFixture {
 protected:
  void TearDown() override {
    // Those that are ignored outlive the plugin.
    EXPECT_TRUE(DeleteFindings().act(scene()));
    FlowFixture::TearDown();
  }

  void Configure(const Json& plugins) {
    ClusterConfigBuilder config = DefaultClusterConfig().Set("/spec/logVerbosity", "Debug");
    for (const auto& [name, plugin] : plugins.items()) config.Set("/spec/plugins/" + name, plugin);
    auto used = UseClusterConfig(config);
    ASSERT_TRUE(used) << used.error();
  }
  PodBuilder PodOn(const std::string& name, const char* image, const std::string& architecture) {
    return MakePod(name).Image(Image(image)).Set("/spec/nodeName", "node-" + architecture);
  }
  PodBuilder NewPod(const std::string& name, const char* image = kWrong) {
    return MakePod(name).Image(Image(image));
  }
  // A container of the pod, which is on the node, fails there.
  Flow& Fails(Flow& flow, const std::string& pod, const std::string& architecture,
              const std::string& command = "/pause") {
    return flow.Await(Runs(pod))
        .Do(ReportContainer(pod, ContainerId()))
        .Do(ReportFailure("of-" + pod, pod, "node-" + architecture, By::kName, command));
  }
};

TEST_F(ImageFindingsFlow, AnImageDoesNotFailAgain) {
  Configure({{"execFormatErrorMonitor", {{"enabled", true}}}});
  Flow flow(scene(), "an image with the wrong program");
  flow.Do(Create(NewPod("before")))
      .Await(Requires("before", {"amd64", "arm64"}))
      .Do(Create(PodOn("failed", kWrong, "amd64")));
  Fails(flow, "failed", "amd64")
      .Await(Found("amd64", ""), kLooked)
      .Await(EventAbout("failed", kFound, {"amd64", "/pause", "built for arm64"}))
      .Do(Create(NewPod("after")))
      .Await(Requires("after", {"arm64"}))
      .Await(EventAbout("after", kFound, {"amd64", kWrong}))
      // What an administrator forbids has no effect, and stays.
      .Do(Ignore())
      .Do(Create(NewPod("ignored")))
      .Await(Requires("ignored", {"amd64", "arm64"}));
  Configure(
      {{"execFormatErrorMonitor", {{"enabled", true}}}, {"imageFindings", {{"enabled", false}}}});
  flow.Stays(Found("amd64", ""), 2s).Do(DeleteFindings()).Await(NothingFound());
}

// A node is compromised, or a container has overwritten its program: the image itself is right.
TEST_F(ImageFindingsFlow, AnImageThatRunsIsNotKeptFromAnArchitecture) {
  Configure({{"execFormatErrorMonitor", {{"enabled", true}}}});
  Flow flow(scene(), "an image that runs");
  for (const char* pod : {"one", "two"}) flow.Do(Create(PodOn(pod, kRight, "amd64")));
  // Images of a namespace are looked at in their order: the others were, once this one is.
  flow.Do(Create(PodOn("wrong", kWrong, "amd64")));
  for (const char* pod : {"one", "two", "wrong"}) Fails(flow, pod, "amd64");
  flow.Await(Found("amd64", ""), kLooked)
      .Do(Create(NewPod("after", kRight)))
      .Await(Requires("after", {"amd64", "arm64", "ppc64le", "s390x"}));
}

// The image has the wrong program at /pause, and its own program is another one.
TEST_F(ImageFindingsFlow, ACommandCountsInItsNamespaceAlone) {
  Configure({{"execFormatErrorMonitor", {{"enabled", true}}}});
  Flow flow(scene(), "a command of a pod");
  flow.Do(Create(PodOn("command", kWrong, "amd64")
                     .Set("/spec/containers/0/command", Json::array({"/pause"}))));
  Fails(flow, "command", "amd64")
      .Await(Found("amd64", scene().ns()), kLooked)
      .Do(Create(NewPod("after")))
      .Await(Requires("after", {"arm64"}));
}

TEST_F(ImageFindingsFlow, IndexesAreBelievedIfNothingIsLeft) {
  Configure({{"execFormatErrorMonitor", {{"enabled", true}}}});
  Flow flow(scene(), "nothing is left");
  flow.Do(Create(PodOn("failed", kWrong, "amd64")));
  Fails(flow, "failed", "amd64")
      .Await(Found("amd64", ""), kLooked)
      // With an image for amd64 alone, the two have nothing in common.
      .Do(Create(
          NewPod("both").Set("/spec/initContainers",
                             Json::array({{{"name", "init"}, {"image", Image("demo/amd64:1")}}}))))
      .Await(Requires("both", {"amd64"}))
      .Await(EventAbout("both", kIgnored, {"no architecture that nodes have is left"}));
}

TEST_F(ImageFindingsFlow, ProgramsAreReadBeforeTheyFail) {
  Configure({{"imageFindings", {{"enabled", true}, {"inspectEntrypoints", true}}}});
  Flow(scene(), "before a failure")
      .Do(Create(NewPod("first")))
      .Await(Ungated("first"))
      .Await(Found("amd64", ""), kLooked)
      .Do(Create(NewPod("second")))
      .Await(Requires("second", {"arm64"}));
  // The plugin takes its findings with it.
  Configure({{"imageFindings", {{"enabled", false}}}});
  Flow(scene(), "without the plugin")
      .Await(NothingFound())
      .Do(Create(NewPod("third")))
      .Await(Requires("third", {"amd64", "arm64"}));
}

}  // namespace
}  // namespace e2e
