// SPDX-License-Identifier: Apache-2.0
// What images say of their platforms beyond one entry for each architecture, on both programs of
// real registries: entries without a platform, Windows, artifacts, and images that are mounted as
// volumes. Images that no registry has need one program only.
#include <cstdlib>

#include "e2e/cluster_harness/nodes.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/own_nodes.h"
#include "inspection/base/manifest.h"
#include "inspection/testing/docker_registry.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using inspection::DockerRegistry;
using inspection::Platform;
using inspection::Publisher;
using inspection::RegistryProgram;

class ImagePlatformsFlow : public FlowFixture {
 protected:
  virtual RegistryProgram Program() const { return RegistryProgram::kDebian; }

  void SetUp() override {
    if (!IsInstalled(Program())) GTEST_SKIP() << HowToInstall(Program());
    FlowFixture::SetUp();
    const char* tmp = std::getenv("TEST_TMPDIR");
    std::string folder = std::string(tmp == nullptr ? "/tmp" : tmp) + "/" + scene().ns();
    registry_.emplace(inspection::DockerRegistryOptions{
        .program = Program(), .folder = folder, .storage = folder + "/storage"});
    publisher_.emplace(cluster().io(), registry_->port(), "");
    Use(DefaultClusterConfig());
  }
  void Use(const ClusterConfigBuilder& config) {
    kube::Result<> known = UseClusterConfig(
        config, "[[registry]]\nlocation = \"" + registry_->host() + "\"\ninsecure = true\n");
    ASSERT_TRUE(known) << known.error();
  }

  // Pushes an image for the platform, and returns its entry for an index.
  std::string Entry(const Platform& platform, const std::string& platform_json) {
    std::string digest = publisher_->PushImage("team/app", "", platform, inspection::kOciManifest);
    return R"({"mediaType":")" + std::string(inspection::kOciManifest) +
           R"(","size":1,"digest":")" + digest + "\"" +
           (platform_json.empty() ? "" : R"(,"platform":)" + platform_json) + "}";
  }
  std::string PushIndex(const std::string& tag, const std::vector<std::string>& entries) {
    publisher_->PushIndex("team/app", tag, entries, inspection::kOciIndex);
    return registry_->host() + "/team/app:" + tag;
  }

  // The pod's only required term has exactly these expressions.
  static Condition RequiresExactly(const std::string& pod,
                                   std::map<std::string, std::vector<std::string>> wanted) {
    return OfPod(pod, "requires exactly " + kube::DumpJson(wanted), [wanted](const Json& state) {
      const Json::json_pointer terms(
          "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/"
          "nodeSelectorTerms");
      if (state["spec"].contains("schedulingGates") || !state.contains(terms)) return false;
      std::map<std::string, std::vector<std::string>> got;
      for (const Json& expression : state[terms][0]["matchExpressions"])
        got[expression["key"]] = expression.value("values", std::vector<std::string>());
      return state[terms].size() == 1 && got == wanted;
    });
  }

  std::optional<DockerRegistry> registry_;
  std::optional<Publisher> publisher_;
};

class ImagePlatformsOnEachRegistryFlow : public ImagePlatformsFlow,
                                         public testing::WithParamInterface<RegistryProgram> {
 protected:
  RegistryProgram Program() const override { return GetParam(); }
};

// Windows Server 2019.
constexpr char kWindows2019[] =
    R"({"os":"windows","architecture":"amd64","os.version":"10.0.17763.5458"})";

TEST_P(ImagePlatformsOnEachRegistryFlow, TheConfigOfAnEntryWithoutPlatformDecides) {
  std::string image = PushIndex(
      "plain", {Entry({"linux", "arm64"}, ""), Entry({"linux", "s390x"}, ""),
                Entry({"windows", "amd64"}, ""),
                Entry({"linux", "ppc64le"}, R"({"os":"linux","architecture":"ppc64le"})")});
  ASSERT_FALSE(HasFailure());
  Flow(scene(), "entries without a platform")
      .Do(Create(MakePod("plain").Image(image)))
      .Await(Requires("plain", {"arm64", "ppc64le", "s390x"}));
}

TEST_P(ImagePlatformsOnEachRegistryFlow, TheOperatingSystemOfAPodSelectsTheEntries) {
  std::string both =
      PushIndex("both", {Entry({"linux", "arm64"}, R"({"os":"linux","architecture":"arm64"})"),
                         Entry({"windows", "amd64"}, kWindows2019)});
  std::string windows = PushIndex("windows", {Entry({"windows", "amd64"}, kWindows2019)});
  ASSERT_FALSE(HasFailure());
  const std::string arch(api::kArchLabel), os(api::kOsLabel), build(api::kWindowsBuildLabel);
  const std::vector<std::string> builds = {"10.0.17763"};
  Flow(scene(), "linux and windows")
      .Do(Create(MakePod("default").Image(both)))
      .Do(Create(MakePod("affinity").Image(both).Require(os, {"windows"})))
      .Do(Create(MakePod("either").Image(windows).Require(os, {"linux", "windows"})))
      .Do(Create(MakePod("silent").Image(windows)))
      .Do(Create(MakePod("wrong").Image(windows).Require(os, {"linux"})))
      .Await(RequiresExactly("default", {{arch, {"arm64"}}}))
      .Await(RequiresExactly("affinity", {{os, {"windows"}}, {arch, {"amd64"}}, {build, builds}}))
      .Await(RequiresExactly("silent", {{os, {"windows"}}, {arch, {"amd64"}}, {build, builds}}))
      .Await(RequiresExactly("either", {{os, {"windows"}}, {arch, {"amd64"}}, {build, builds}}))
      .Await(EventAbout("silent", std::string(api::kReasonPredicateSet),
                        {"amd64", "operating systems: windows"}))
      .Await(Ungated("wrong"))
      .Check(Labelled("wrong", std::string(api::kNoSupportedArchLabel), ""))
      .Await(EventAbout("wrong", std::string(api::kReasonNoSupportedArchitectures)))
      .Never(GateRemovedWithoutItsDecision());
}

TEST_P(ImagePlatformsOnEachRegistryFlow, OnlyAnIndexRestrictsTheNodesOfAVolume) {
  std::string run =
      PushIndex("run", {Entry({"linux", "arm64"}, R"({"os":"linux","architecture":"arm64"})"),
                        Entry({"linux", "s390x"}, R"({"os":"linux","architecture":"s390x"})")});
  std::string split =
      PushIndex("split", {Entry({"linux", "s390x"}, R"({"os":"linux","architecture":"s390x"})"),
                          Entry({"linux", "amd64"}, R"({"os":"linux","architecture":"amd64"})")});
  publisher_->PushImage("team/data", "amd64", {"linux", "amd64"}, inspection::kOciManifest);
  // A model: it has no image config.
  std::string empty = publisher_->PushBlob("team/data", "{}");
  publisher_->PushManifest(
      "team/data", "model",
      R"({"schemaVersion":2,"mediaType":")" + std::string(inspection::kOciManifest) +
          R"(","artifactType":"application/vnd.example.model",)"
          R"("config":{"mediaType":"application/vnd.oci.empty.v1+json","size":2,"digest":")" +
          empty +
          R"("},"layers":[{"mediaType":"application/vnd.oci.empty.v1+json","size":2,)"
          R"("digest":")" +
          empty + R"("}]})",
      inspection::kOciManifest);
  ASSERT_FALSE(HasFailure());
  auto with_volume = [&](const std::string& name, const std::string& reference) {
    Json image = {{"reference", reference}, {"pullPolicy", "IfNotPresent"}};
    Json volume = {{"name", "data"}, {"image", image}};
    return MakePod(name).Image(run).Set("/spec/volumes", Json::array({volume}));
  };
  Flow(scene(), "images as volumes")
      .Do(Create(with_volume("index", split)))
      .Do(Create(with_volume("single", registry_->host() + "/team/data:amd64")))
      .Do(Create(with_volume("model", registry_->host() + "/team/data:model")))
      .Await(Requires("index", {"s390x"}))
      .Await(Requires("single", {"arm64", "s390x"}))
      .Await(Requires("model", {"arm64", "s390x"}));
}

INSTANTIATE_TEST_SUITE_P(On, ImagePlatformsOnEachRegistryFlow,
                         testing::ValuesIn(inspection::kRegistryPrograms),
                         [](const auto& info) { return NameOf(info.param); });

// The kubelets say which images their nodes have.
class NodeImagesFlow : public ImagePlatformsFlow {
 protected:
  // A node of `architecture` that has these images.
  Step AddNode(const std::string& architecture, const std::vector<std::string>& images) {
    Json node = MakeNode(architecture + "-of-" + scene().ns(), architecture);
    for (const std::string& image : images) {
      Json names = Json::array({image});
      node["status"]["images"].push_back({{"names", names}, {"sizeBytes", 1}});
    }
    return nodes_.Add(std::move(node));
  }

  OwnNodes nodes_;
};

TEST_F(NodeImagesFlow, TellOfImagesThatNoRegistryHas) {
  const std::string loaded = "registry.example/loaded:1";
  const std::string lost = registry_->host() + "/team/lost:1";
  auto pod = [](const std::string& name, const std::string& image, const char* policy) {
    return MakePod(name).Image(image).Set("/spec/containers/0/imagePullPolicy", policy);
  };
  // Longer than between two lists of nodes: earlier flows may have asked for one.
  Use(DefaultClusterConfig().Set("/spec/inspectionRetryPeriod", "30s"));
  if (HasFailure()) return;
  Flow(scene(), "images that are only on nodes")
      .Do(AddNode("s390x", {loaded, lost}))
      .Do(Create(pod("never", loaded, "Never")))
      .Do(Create(pod("present", lost, "IfNotPresent")))
      .Do(Create(pod("always", lost, "Always")))
      .Await(Requires("never", {"s390x"}), 90s)
      .Await(Requires("present", {"s390x"}), 90s)
      .Await(EventAbout("present", std::string(api::kReasonStaleInspection), {lost, "on nodes"}))
      .Await(EventAbout("always", std::string(api::kReasonInspectionError), {lost, "404"}))
      .Never(GateRemovedWithoutItsDecision());
}

}  // namespace
}  // namespace e2e
