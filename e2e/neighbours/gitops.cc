// SPDX-License-Identifier: Apache-2.0
// Argo CD and Flux: nothing that the operator writes differs from what they apply (server-side
// diff), and the health checks in examples/ judge objects as their users expect.
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "deploy/manifests.h"
#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"
#include "kube/client/typed.h"
#include "kube/types/list_at.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

// The program with the interpreters of both; empty if build-tools.sh has not built it.
std::string HealthChecks() {
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  std::string program = std::string(assets == nullptr ? "" : assets) + "/health-checks";
  return std::filesystem::exists(program) ? program : "";
}

class GitOpsFlow : public FlowFixture {
 protected:
  // `object` as it would be stored if `manager` applied it: what Argo CD's server-side diff and
  // Flux's drift detection compare. Without `force`, a different field of another manager is a
  // conflict.
  Result<Json> DryRunOfApply(const Resource& resource, const Json& object,
                             const std::string& manager, const std::string& force) {
    kube::ApiRequest request{.method = kube::Method::kPatch,
                             .target = resource.Path(kube::StringAt(object, "metadata.namespace"),
                                                     kube::StringAt(object, "metadata.name")) +
                                       "?dryRun=All&force=" + force + "&fieldManager=" + manager,
                             .content_type = "application/apply-patch+yaml",
                             .body = kube::DumpJson(object)};
    auto answer = cluster().Run(cluster().client().Call(std::move(request)));
    if (!answer) return answer.error();
    return kube::ParseJson(answer->body);
  }
  static Step Apply(const Resource& resource, const Json& object, const std::string& manager) {
    return {"apply " + kube::StringAt(object, "kind") + " as " + manager,
            [resource, object, manager](Scene& scene) -> Result<> {
              auto applied = scene.cluster().Run(kube::ApplyObject(
                  scene.cluster().client(), resource, kube::Unstructured(object), {manager}));
              if (!applied) return applied.error();
              return Ok();
            }};
  }
  // Applying `object` again changes nothing at all, not even its resourceVersion.
  Condition NoDrift(const Resource& resource, const Json& object, const std::string& manager) {
    return {
        "no drift of " + kube::StringAt(object, "kind") + " for " + manager,
        [this, resource, object, manager](Scene& scene) -> Result<> {
          auto live = scene.Get(resource, kube::StringAt(object, "metadata.name"));
          if (!live) return live.error();
          auto applied = DryRunOfApply(resource, object, manager, "false");
          if (!applied) return applied.error();
          if (*applied != *live)
            return Error::Invalid(kube::DumpJson(*applied) + " is not " + kube::DumpJson(*live));
          return Ok();
        }};
  }
  // The operator owns nothing of the spec.
  static Condition SpecIsOwnedBy(const Resource& resource, const std::string& name,
                                 const std::string& manager) {
    return {"the spec of " + name + " is owned by " + manager,
            [resource, name, manager](Scene& scene) -> Result<> {
              auto live = scene.Get(resource, name);
              if (!live) return live.error();
              bool owned = false;
              for (const Json& entry : kube::ListAt(*live, "metadata.managedFields")) {
                if (kube::Find(entry, "fieldsV1.f:spec") == nullptr) continue;
                if (kube::StringAt(entry, "manager") != manager)
                  return Error::Invalid("an owner is " + kube::StringAt(entry, "manager"));
                owned = true;
              }
              return owned ? Ok() : Result<>(Error::NotFound("an owner"));
            }};
  }
  Json Config(const std::string& name, int priority) {
    Json config = MakeConfig(name).Priority(priority).Prefer("arm64", 33).Build();
    config["metadata"]["namespace"] = scene().ns();
    return config;
  }

  // What `product` ("argocd", "flux") says about the object.
  std::string HealthOf(const std::string& product, const Json& object) {
    const char* folder = std::getenv("TEST_TMPDIR");
    std::string file = std::string(folder == nullptr ? "/tmp" : folder) + "/object.json";
    Result<> written = WriteFile(file, kube::DumpJson(object));
    EXPECT_TRUE(written) << written.error();
    auto finished = RunToEnd(
        {.path = HealthChecks(), .args = {product, "examples/" + product + "/health.yaml", file}});
    EXPECT_TRUE(finished) << finished.error();
    return finished ? finished->output : "";
  }
  void ExpectHealth(const Json& object, const std::string& argo_cd, const std::string& flux) {
    EXPECT_EQ(HealthOf("argocd", object).substr(0, argo_cd.size()), argo_cd)
        << HealthOf("argocd", object) << kube::DumpJson(object);
    EXPECT_EQ(HealthOf("flux", object).substr(0, flux.size()), flux)
        << HealthOf("flux", object) << kube::DumpJson(object);
  }
  Json Live(const Resource& resource, const std::string& name) {
    auto live = scene().Get(resource, name);
    EXPECT_TRUE(live) << live.error();
    return live ? *live : Json::object();
  }
};

TEST_F(GitOpsFlow, WhatTheOperatorWritesIsNoDrift) {
  const std::string cluster_name(api::kClusterConfigName);
  for (const char* manager : {"argocd-controller", "kustomize-controller"}) {
    Json config = Config("by-" + std::string(manager), manager[0] == 'a' ? 1 : 2);
    // The flows have created it; its spec is this one.
    Json cluster_config = DefaultClusterConfig().Build();
    Flow(scene(), manager)
        .Do(Apply(kClusterConfigs, cluster_config, manager))
        .Do(Apply(kConfigs, config, manager))
        .Await(ShardReady())
        .Await(HasStatusCondition(kConfigs, config["metadata"]["name"], "Available", "True"))
        .Await(HasStatusCondition(kClusterConfigs, cluster_name, "Available", "True"))
        // With pods, as the status of configurations changes with them.
        .Do(Create(MakePod(manager).Image(Image("demo/multi:1"))))
        .Await(Prefers(manager, {{"arm64", 33}}))
        .Await(NoDrift(kConfigs, config, manager))
        .Await(NoDrift(kClusterConfigs, cluster_config, manager))
        .Check(SpecIsOwnedBy(kConfigs, config["metadata"]["name"], manager));
  }
}

// The installation itself, with the operator running: its Deployment, CRDs and rights. With force,
// as both apply: a fieldRef is atomic, so that its default version is a difference until it is
// stored.
TEST_F(GitOpsFlow, TheManifestsOfTheInstallationHaveNoDrift) {
  auto objects = TheProcessCluster().Manifests();
  ASSERT_TRUE(objects) << objects.error();
  for (const kube::Unstructured& object : *objects) {
    auto resource = deploy::ResourceOfObject(object);
    ASSERT_TRUE(resource) << resource.error();
    auto live = cluster().Run(kube::GetObject(cluster().client(), *resource, kube::KeyOf(object)));
    ASSERT_TRUE(live) << live.error();
    auto applied = DryRunOfApply(*resource, object.body(), "argocd-controller", "true");
    ASSERT_TRUE(applied) << kube::DumpJson(object.body()) << applied.error();
    Json stored = live->body();
    // Another manager of the same values is recorded there.
    for (Json* either : {&stored, &*applied}) {
      (*either)["metadata"].erase("managedFields");
      (*either)["metadata"].erase("resourceVersion");
      (*either).erase("status");
    }
    EXPECT_EQ(*applied, stored);
  }
}

TEST_F(GitOpsFlow, HealthChecksFollowTheConditions) {
  if (HealthChecks().empty())
    GTEST_SKIP() << "KUBEBUILDER_ASSETS has no health-checks; e2e/cluster/build-tools.sh builds it";
  const std::string cluster_name(api::kClusterConfigName);
  Flow(scene(), "health of real objects")
      .Do(Create(MakeConfig("only").Prefer("arm64", 33)))
      .Await(ShardReady())
      .Await(HasStatusCondition(kConfigs, "only", "Available", "True"))
      .Await(HasStatusCondition(kConfigs, "only", "Progressing", "False"))
      .Await(HasStatusCondition(kClusterConfigs, cluster_name, "Available", "True"))
      .Await(HasStatusCondition(kClusterConfigs, cluster_name, "Progressing", "False"));
  for (const Json& healthy : {Live(kConfigs, "only"), Live(kClusterConfigs, cluster_name)}) {
    ExpectHealth(healthy, "Healthy", "Current");
    Json changed = healthy;
    changed["metadata"]["generation"] = 1000;  // a change that the operator has not seen
    ExpectHealth(changed, "Progressing", "InProgress");
    changed = healthy;
    changed.erase("status");  // Flux reports an error as Unknown, and tries again
    ExpectHealth(changed, "Progressing", "");
    changed = healthy;
    changed["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
    ExpectHealth(changed, "Progressing being deleted", "InProgress");
    for (Json& condition : (changed = healthy)["status"]["conditions"])
      if (condition["type"] == "Progressing") condition["status"] = "True";
    ExpectHealth(changed, "Progressing", "InProgress");
    for (Json& condition : changed["status"]["conditions"]) {
      if (condition["type"] != "Degraded") continue;
      condition["status"] = "True";
      condition["message"] = "the reason";
    }
    ExpectHealth(changed, "Degraded the reason", "Failed");
  }

  // Not in force, although nothing is wrong with it.
  Json opt_out = {{"metadata", {{"labels", {{std::string(api::kExcludeLabel), ""}}}}}};
  Flow(scene(), "the namespace opts out")
      .Do(Change(kNamespaces, scene().ns(), opt_out))
      .Await(HasStatusCondition(kConfigs, "only", "Progressing", "False", "NoShard"));
  ExpectHealth(Live(kConfigs, "only"), "Degraded this namespace has the label", "Failed");
}

}  // namespace
}  // namespace e2e
