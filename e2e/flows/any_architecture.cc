// SPDX-License-Identifier: Apache-2.0
// Architectures beside those of the demo images, with a real registry and the real scheduler: what
// an index names, and what users write into both kinds of config.
#include <cstdlib>

#include "api/amd64_levels.h"
#include "api/architecture.h"
#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/nodes.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "e2e/framework/own_nodes.h"
#include "inspection/base/manifest.h"
#include "inspection/testing/docker_registry.h"
#include "kube/types/object_fields.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using inspection::DockerRegistry;
using inspection::Publisher;

constexpr const char* kPool = "pool";

class AnyArchitectureFlow : public FlowFixture {
 protected:
  std::string NameOf(const std::string& architecture, const std::string& label = "") {
    return architecture + (label.empty() ? "-of-" : "-labelled-of-") + scene().ns();
  }
  // A node that only the pods of the flow may use, with the taint of its architecture.
  Step AddNode(const std::string& architecture, const std::string& label = "") {
    std::string name = NameOf(architecture, label);
    Json node = MakeNode(name, architecture);
    node["metadata"]["labels"][kPool] = scene().ns();
    if (!label.empty()) node["metadata"]["labels"][label] = "true";
    node["spec"]["taints"] = Json::array({{{"key", std::string(api::kArchLabel)},
                                           {"value", architecture},
                                           {"effect", "NoSchedule"}}});
    return nodes_.Add(std::move(node));
  }
  PodBuilder PooledPod(const std::string& name, const std::string& image) {
    return MakePod(name).Image(image).NodeSelector(kPool, scene().ns());
  }

  std::string Repository(const std::string& name) { return registry_.host() + "/" + name + ":1"; }
  kube::Result<> Use(const ClusterConfigBuilder& config) {
    return UseClusterConfig(
        config, "[[registry]]\nlocation = \"" + registry_.host() + "\"\ninsecure = true\n");
  }

  // What kubectl prints about a change that is not stored.
  std::string DryRun(const std::string& resource, const std::string& name, const Json& patch) {
    auto finished = RunToEnd(
        {.path = std::string(std::getenv("KUBEBUILDER_ASSETS")) + "/kubectl",
         .args = {"patch", resource, name, "--namespace=" + scene().ns(), "--type=merge",
                  "--dry-run=server", "--patch=" + kube::DumpJson(patch),
                  "--kubeconfig=" + TheProcessCluster().control_plane().admin_kubeconfig()}});
    EXPECT_TRUE(finished) << finished.error();
    return finished ? finished->output : "";
  }

  OwnNodes nodes_;
  const char* parent_ = std::getenv("TEST_TMPDIR");
  std::string folder_ = std::string(parent_ == nullptr ? "/tmp" : parent_) + "/any-architecture";
  DockerRegistry registry_{{.folder = folder_, .storage = folder_ + "/storage"}};
  Publisher publisher_{cluster().io(), registry_.port(), ""};
};

TEST_F(AnyArchitectureFlow, APodRunsOnWhatItsImagesName) {
  std::vector<std::string> entries;
  for (const char* architecture : {"amd64", "riscv64", "loong64"}) {
    entries.push_back(
        publisher_.PushEntry("app", {"linux", architecture}, inspection::kOciManifest));
  }
  publisher_.PushIndex("app", "1", entries, inspection::kOciIndex);
  publisher_.PushImage("single", "1", {"linux", "loong64"}, inspection::kOciManifest);
  ASSERT_FALSE(HasFailure());
  auto used = Use(DefaultClusterConfig()
                      .Set("/spec/plugins/architectureTolerations/enabled", true)
                      .Prefer("loong64", 5));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "nodes of riscv64 and loong64")
      .Do(AddNode("amd64"))
      .Do(AddNode("riscv64"))
      .Do(AddNode("loong64"))
      .Do(Create(MakeConfig("first").Prefer("riscv64", 100)))
      .Await(ShardReady())
      .Do(Create(PooledPod("web", Repository("app"))))
      .Await(Requires("web", {"amd64", "loong64", "riscv64"}))
      .Check(Prefers("web", {{"loong64", 5}, {"riscv64", 100}}))
      .Check(Labelled("web", std::string(api::kMultiArchLabel), ""))
      .Check(Labelled("web", std::string(api::kLabelPrefix) + "riscv64", ""))
      .Await(ScheduledOn("web", {"riscv64"}))
      .Await(EventAbout("web", std::string(api::kReasonTolerationsSet), {"riscv64:NoSchedule"}))
      .Do(Create(PooledPod("single", Repository("single"))))
      .Await(Requires("single", {"loong64"}))
      .Await(ScheduledOn("single", {"loong64"}))
      .Never(GateRemovedWithoutItsDecision())
      .Never(ClusterGateRemovedBeforeLocal());
}

// A bundle has no program: the other images decide, whatever they name.
TEST_F(AnyArchitectureFlow, ABundleExcludesNoArchitecture) {
  publisher_.PushImage("bundle", "1", {"linux", "amd64"}, inspection::kOciManifest,
                       R"({"operators.operatorframework.io.bundle.mediatype.v1":"registry+v1"})");
  publisher_.PushImage("riscv", "1", {"linux", "riscv64"}, inspection::kOciManifest);
  ASSERT_FALSE(HasFailure());
  auto used = Use(DefaultClusterConfig());
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "bundles")
      .Do(Create(MakePod("both").Image(Repository("bundle")).Image(Repository("riscv"))))
      .Await(Requires("both", {"riscv64"}))
      .Do(Create(MakePod("alone").Image(Repository("bundle"))))
      .Await(Requires("alone", {"amd64", "arm64", "ppc64le", "s390x"}));
}

// By the labels of node-feature-discovery, only while the plugin is enabled.
TEST_F(AnyArchitectureFlow, NodesOfAmd64HaveTheLevelOfTheImages) {
  auto entry = [&](const std::string& architecture, int level) {
    return publisher_.PushEntry("levels", {"linux", architecture, "", level},
                                inspection::kOciManifest);
  };
  publisher_.PushIndex("levels", "1", {entry("amd64", 3), entry("riscv64", 0)},
                       inspection::kOciIndex);
  publisher_.PushIndex(
      "every", "1",
      {publisher_.PushEntry("every", {"linux", "amd64"}, inspection::kOciManifest),
       publisher_.PushEntry("every", {"linux", "amd64", "", 3}, inspection::kOciManifest)},
      inspection::kOciIndex);
  ASSERT_FALSE(HasFailure());
  const std::string label = api::Amd64LevelLabel(3);
  auto runs_on = [](const std::string& pod, const std::string& node, bool required) {
    return OfPod(pod, "runs on " + node, [=](const Json& json) {
      // It may not have one yet.
      const Json affinity = json["spec"].value("affinity", Json());
      bool named = kube::DumpJson(affinity).find("X86_64") != std::string::npos;
      return NodeOf(json) == node && named == required;
    });
  };
  ClusterConfigBuilder config =
      DefaultClusterConfig().Set("/spec/plugins/architectureTolerations/enabled", true);
  auto used = Use(ClusterConfigBuilder(config).Set("/spec/plugins/amd64Levels/enabled", true));
  ASSERT_TRUE(used) << used.error();
  Flow flow(scene(), "images for x86-64-v3");
  flow.Do(AddNode("amd64"))
      .Do(Create(PooledPod("every", Repository("every"))))
      .Await(runs_on("every", NameOf("amd64"), false))
      .Do(Create(PooledPod("web", Repository("levels"))))
      .Await(EventAbout("web", std::string(api::kReasonPredicateSet), {label}))
      .Await(OfPod("web", "finds no node",
                   [](const Json& json) {
                     const Json* scheduled = kube::ConditionOf(json, "PodScheduled");
                     return scheduled != nullptr &&
                            kube::StringAt(*scheduled, "reason") == "Unschedulable";
                   }))
      .Do(AddNode("amd64", label))
      .Await(runs_on("web", NameOf("amd64", label), true), 60s)
      .Never(GateRemovedWithoutItsDecision());
  if (flow.failed()) return;
  used = Use(config);
  ASSERT_TRUE(used) << used.error();
  flow.Do(Create(PooledPod("off", Repository("levels"))))
      .Await(Requires("off", {"amd64", "riscv64"}));
}

TEST_F(AnyArchitectureFlow, TheFallbackMayBeAny) {
  auto used =
      Use(DefaultClusterConfig().Set("/spec/inspectionRetryPeriod", "5s").Fallback("mips64le"));
  ASSERT_TRUE(used) << used.error();
  Flow(scene(), "a fallback that is not of the demo images")
      .Do(Create(MakePod("lost").Image(Repository("nowhere"))))
      .Await(Requires("lost", {"mips64le"}), 240s)
      .Check(Labelled("lost", std::string(api::kFallbackArchLabel), "mips64le"));
}

// The API server passes the warning on, and stores the config.
TEST_F(AnyArchitectureFlow, AnUnknownOneIsAWarning) {
  const std::string warning = "architecture \"amd46\" is not known; known ones are 386, amd64";
  auto scoring = [](const char* architecture) -> Json {
    Json platforms = Json::array({{{"architecture", architecture}, {"weight", 1}}});
    return {{"spec", {{"plugins", {{"nodeAffinityScoring", {{"platforms", platforms}}}}}}}};
  };
  Flow flow(scene(), "warnings");
  flow.Do(Create(MakeConfig("a").Prefer("arm64", 10)));
  ASSERT_FALSE(flow.failed());
  std::string output = DryRun("podplacementconfigs", "a", scoring("amd46"));
  EXPECT_NE(output.find(warning), std::string::npos) << output;
  output = DryRun("podplacementconfigs", "a", scoring("riscv64"));
  EXPECT_NE(output.find("patched"), std::string::npos) << output;
  EXPECT_EQ(output.find("Warning"), std::string::npos) << output;
  output = DryRun("clusterpodplacementconfigs", std::string(api::kClusterConfigName),
                  {{"spec", {{"fallbackArchitecture", "amd46"}}}});
  EXPECT_NE(output.find(warning), std::string::npos) << output;
  flow.Do(Change(kConfigs, "a", scoring("amd46")))
      .Await(ShardReady())
      .Do(Create(MakePod("web").Image(Image("demo/multi:1"))))
      .Await(Prefers("web", {{"amd46", 1}}));
}

}  // namespace
}  // namespace e2e
