// SPDX-License-Identifier: Apache-2.0
// What one member of a fleet knows about images reaches another one by the hub: the programs and
// the real tools, with the rights that these install, on three API servers. Each member has a
// registry of its own, by the same name. Skipped without KUBEBUILDER_ASSETS.
#include "image-facts/image_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/known_images.h"
#include "api/names.h"
#include "api/testing/make_config.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/pod_history.h"
#include "e2e/framework/resources.h"
#include "fleet/api/managed_cluster_set.h"
#include "fleet/e2e/fleet_cluster.h"
#include "fleet/e2e/fleet_fixture.h"
#include "fleet/image-facts/fleet_objects.h"
#include "fleet/standalone/access/agent_access.h"
#include "fleet/testing/make_object.h"
#include "inspection/testing/fake_registry.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"
#include "kube/testing/matchers.h"

namespace e2e {
namespace {

using image_facts::ImageFacts;
using kube::IsOk;
using kube::Json;
using kube::ObjectKey;
using kube::Result;

using Registry = inspection::FakeRegistry;

const std::string kOwn = "registry.test/team/own:1";
const std::string kOperatorNamespace(api::kDefaultOperatorNamespace);
const std::string kAgentNamespace = "multiarch-fleet-member";

class FleetImageFactsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ControlPlaneAssets().empty())
      GTEST_SKIP() << "KUBEBUILDER_ASSETS is not set: there is no control plane";
    hub_ = Launch("hub");
    east_ = Launch("east");
    west_ = Launch("west");
    ASSERT_TRUE(hub_ && east_ && west_);
    // In the network of the clusters.
    at_east_ = std::make_unique<Registry>(io_->get_executor(), inspection::FakeRegistryOptions());
    at_west_ = std::make_unique<Registry>(io_->get_executor(), inspection::FakeRegistryOptions());
    app_ = "registry.test/team/app@" + at_east_->PutIndex("team/app", "1", {{"linux", "arm64"}});
    at_west_->PutIndex("team/own", "1", {{"linux", "s390x"}});
    // The tool installs the CRDs of the fleet.
    Serve(*hub_, {});
    for (FleetCluster* member : {east_.get(), west_.get()})
      Serve(*member, {"api/crds", "image-facts/crds"});
  }

  // An API server without controllers, with the etcd of the first one.
  std::unique_ptr<FleetCluster> Launch(const std::string& name) {
    auto cluster = FleetCluster::Launch({.assets = ControlPlaneAssets(),
                                         .folder = TestFolder() + "/" + name,
                                         .address = "127.0.0." + std::to_string(++launched_),
                                         .etcd_of = hub_ ? &hub_->plane() : nullptr,
                                         .only_api_server = true},
                                        io_);
    EXPECT_TRUE(cluster) << cluster.error();
    return cluster ? std::move(*cluster) : nullptr;
  }
  static void Serve(FleetCluster& cluster, const std::vector<std::string>& crds) {
    Result<> served = cluster.Serve(crds);
    ASSERT_TRUE(served) << served.error() << cluster.Logs();
  }
  void Tool(FleetCluster& cluster, const std::string& path, std::vector<std::string> args) {
    args.insert(args.end(), {"--wait=false", "--timeout=60"});
    auto done = RunToEnd({.path = path,
                          .args = std::move(args),
                          .env = {{"KUBECONFIG", cluster.plane().admin_kubeconfig()}}},
                         std::chrono::seconds(90));
    ASSERT_TRUE(done) << done.error();
    ASSERT_EQ(done->status, 0) << path << "\n" << done->output;
  }
  void Await(FleetCluster& cluster, const std::string& what, const FleetCluster::Holds& holds) {
    Result<> reached = cluster.Await(what, holds);
    ASSERT_TRUE(reached) << reached.error() << hub_->Logs() << east_->Logs() << west_->Logs();
  }
  static Json Get(FleetCluster& cluster, const kube::Resource& resource, ObjectKey key) {
    auto object = cluster.Run(kube::GetObject(cluster.client(), resource, std::move(key)));
    return object ? object->body() : Json();
  }
  // The images of what is stored there under any name.
  static std::vector<std::string> Facts(FleetCluster& cluster, const std::string& ns) {
    kube::ListOptions options{.ns = ns};
    auto objects = cluster.Run(kube::List<ImageFacts>(cluster.client(), std::move(options)));
    std::vector<std::string> images;
    if (!objects) return images;
    for (const ImageFacts& object : objects->items) {
      for (const image_facts::ImageFact& fact : object.facts) images.push_back(fact.image);
    }
    return images;
  }
  void AwaitFact(FleetCluster& cluster, const std::string& ns, const std::string& image) {
    Await(cluster, image + " is known in " + ns, [&] {
      std::vector<std::string> facts = Facts(cluster, ns);
      return std::count(facts.begin(), facts.end(), image) > 0;
    });
  }

  // The hub's program, with the rights that the tool has installed.
  void StartHub() {
    Tool(*hub_, "fleet/deploy/deploy_hub",
         {"--membership=own", "--placements=all", "--with=image-facts"});
    auto kubeconfig = hub_->KubeconfigOf(FleetCluster::kHubAccount, FleetCluster::kNamespace);
    ASSERT_TRUE(kubeconfig) << kubeconfig.error();
    Result<> started = hub_->StartHub(*kubeconfig, FleetCluster::kNamespace,
                                      {"--membership=own", "--placements=all", "--image-facts"});
    ASSERT_TRUE(started) << started.error();
    const ObjectKey set{"", "default"};
    Await(*hub_, "the set default exists",
          [&] { return Get(*hub_, fleet::kManagedClusterSets, set).is_object(); });
    Json trust;
    trust["metadata"]["labels"]["fleet.multiarch.openshift.io/image-facts"] = "trusted";
    ASSERT_THAT(hub_->Patch(fleet::kManagedClusterSets, set, std::move(trust)), IsOk());
  }
  void Join(FleetCluster& member, const std::string& name) {
    Tool(member, "fleet/standalone/deploy/join",
         {"--hub-kubeconfig=" + hub_->plane().admin_kubeconfig(),
          "--hub-server=" + hub_->plane().url(), "--name=" + name,
          "--with=publish-image-facts,use-image-facts"});
  }
  void StartAgent(FleetCluster& member, const std::string& name) {
    const std::string account(fleet::kAgentAccess);
    auto at_hub = hub_->KubeconfigOf(account, name);
    auto at_member = member.KubeconfigOf(account, kAgentNamespace);
    ASSERT_TRUE(at_hub && at_member);
    Result<> started = member.StartAgent(name, *at_hub, *at_member, kAgentNamespace,
                                         {"--publish-image-facts", "--use-image-facts"});
    ASSERT_TRUE(started) << started.error();
  }

  // A cluster controller that keeps facts.
  void StartController(FleetCluster& member, const Registry& registry) {
    for (const std::string& ns : {kOperatorNamespace, std::string("team")})
      ASSERT_THAT(member.Create(kNamespaces, fleet::MakeNamespace(ns)), IsOk());
    ASSERT_THAT(
        member.Create(kServiceAccounts, fleet::MakeObject(kServiceAccounts, "team", "default")),
        IsOk());
    ASSERT_THAT(
        member.Create(
            kClusterConfigs,
            api::MakeClusterConfig().Set("/spec/knownImages", api::kPlaceKnownImages).Build()),
        IsOk());
    const std::string registries = member.folder() + "/registries.conf";
    ASSERT_THAT(WriteFile(registries, "[[registry]]\nprefix = \"registry.test\"\nlocation = \"" +
                                          registry.host() + "\"\ninsecure = true\n"),
                IsOk());
    Result<> started = member.StartProgram(
        "cluster-controller", "cluster-controller/cluster-controller",
        {"--kubeconfig=" + member.plane().admin_kubeconfig(),
         "--health-address=" + member.plane().host() + ":0", "--registries-conf=" + registries});
    ASSERT_TRUE(started) << started.error();
  }
  // A pod with the cluster gate is placed where the image runs.
  void ExpectPlaced(FleetCluster& member, const std::string& name, const std::string& image,
                    const std::string& architecture) {
    Json gate = {{"name", std::string(api::kClusterGate)}};
    Json pod = MakePod(name)
                   .Image(image)
                   .Set("/spec/schedulingGates", Json::array({std::move(gate)}))
                   .Build();
    pod["metadata"]["namespace"] = "team";
    ASSERT_THAT(member.Create(kPods, std::move(pod)), IsOk());
    Await(member, name + " is placed", [&] {
      Json stored = Get(member, kPods, {"team", name});
      return stored.is_object() && !IsGated(stored);
    });
    const std::string text = kube::DumpJson(Get(member, kPods, {"team", name}));
    EXPECT_NE(text.find("\"values\":[\"" + architecture + "\"]"), std::string::npos) << text;
  }

  using FactsCall = std::function<kube::Async<ImageFacts>(kube::Client&)>;
  // What a call of the agent's account in `ns` of that cluster gets.
  Result<> AsAgent(FleetCluster& cluster, const std::string& ns, const FactsCall& call) {
    auto path = cluster.KubeconfigOf(std::string(fleet::kAgentAccess), ns);
    if (!path) return path.error();
    auto config = kube::LoadKubeconfig(*path);
    if (!config) return config.error();
    auto client =
        kube::NewClient(io_->get_executor(), kube::RealClock(), *config, {.user_agent = "agent"});
    if (!client) return client.error();
    auto done = cluster.Run(call(**client));
    if (!done) return done.error();
    return kube::Ok();
  }
  Result<> Read(const ObjectKey& key) {
    return AsAgent(*hub_, "west",
                   [&](kube::Client& client) { return kube::Get<ImageFacts>(client, key); });
  }
  Result<> CreateFacts(FleetCluster& cluster, const std::string& account_ns, const ObjectKey& key,
                       const std::string& finalizer = "") {
    ImageFacts object;
    object.mutable_metadata()->set_name(key.name);
    object.mutable_metadata()->set_namespace_(key.ns);
    if (!finalizer.empty()) object.mutable_metadata()->add_finalizers(finalizer);
    return AsAgent(cluster, account_ns,
                   [&](kube::Client& client) { return kube::Create(client, object); });
  }
  // On the hub.
  Result<> Publish(const std::string& name, const std::string& finalizer = "") {
    return CreateFacts(*hub_, "west", {"west", name}, finalizer);
  }
  // In the member.
  Result<> Import(const ObjectKey& key, const std::string& finalizer = "") {
    return CreateFacts(*west_, kAgentNamespace, key, finalizer);
  }

  std::shared_ptr<boost::asio::io_context> io_ = std::make_shared<boost::asio::io_context>(1);
  // What registry.test is in each member.
  std::unique_ptr<Registry> at_east_;
  std::unique_ptr<Registry> at_west_;
  // By digest: the registry would be asked whether a tag has moved.
  std::string app_;
  int launched_ = 0;
  std::unique_ptr<FleetCluster> hub_;  // outlives the members, which use its etcd
  std::unique_ptr<FleetCluster> east_;
  std::unique_ptr<FleetCluster> west_;
};

TEST_F(FleetImageFactsTest, WhatOneMemberKnowsPlacesPodsOfAnother) {
  ASSERT_NO_FATAL_FAILURE(StartHub());
  ASSERT_NO_FATAL_FAILURE(Join(*east_, "east"));
  ASSERT_NO_FATAL_FAILURE(Join(*west_, "west"));
  ASSERT_NO_FATAL_FAILURE(StartController(*east_, *at_east_));
  ASSERT_NO_FATAL_FAILURE(StartController(*west_, *at_west_));
  ASSERT_NO_FATAL_FAILURE(ExpectPlaced(*east_, "app", app_, "arm64"));
  ASSERT_NO_FATAL_FAILURE(ExpectPlaced(*west_, "own", kOwn, "s390x"));
  ASSERT_NO_FATAL_FAILURE(AwaitFact(*east_, kOperatorNamespace, app_));
  ASSERT_NO_FATAL_FAILURE(AwaitFact(*west_, kOperatorNamespace, kOwn));

  ASSERT_NO_FATAL_FAILURE(StartAgent(*east_, "east"));
  ASSERT_NO_FATAL_FAILURE(AwaitFact(*hub_, "east", app_));
  ASSERT_NO_FATAL_FAILURE(AwaitFact(*hub_, FleetCluster::kNamespace, app_));
  const std::string head(fleet::kSharedHead);
  ASSERT_NO_FATAL_FAILURE(Await(*hub_, head + " names what is shared", [&] {
    return Get(*hub_, kube::ResourceOf<ImageFacts>::value, {FleetCluster::kNamespace, head})
        .is_object();
  }));
  ASSERT_NO_FATAL_FAILURE(StartAgent(*west_, "west"));
  ASSERT_NO_FATAL_FAILURE(AwaitFact(*west_, kOperatorNamespace, app_));

  ASSERT_NO_FATAL_FAILURE(ExpectPlaced(*west_, "app", app_, "arm64"));
  EXPECT_EQ(at_west_->Count("team/app"), 0) << "it was asked for what it does not have";

  // Who has stolen a token of an agent: of its account on the hub, and in the member, which could
  // be a hub, too.
  EXPECT_THAT(Read({FleetCluster::kNamespace, head}), IsOk());
  EXPECT_THAT(Publish("image-facts-3"), IsOk());
  EXPECT_THAT(Import({kOperatorNamespace, "image-facts-63"}), IsOk());
  Json member = fleet::MakeNamespace("north");
  member["metadata"]["labels"][std::string(fleet::kClusterNameLabel)] = "north";
  ASSERT_THAT(west_->Create(kNamespaces, std::move(member)), IsOk());
  const std::vector<Result<>> denied = {
      Read({"east", "image-facts-0"}),
      Publish("image-facts-4"),
      Publish(head),
      Publish("image-facts-2", "x.io/stay"),
      Import({"north", "image-facts-0"}),
      Import({"team", head}),
      Import({kOperatorNamespace, "image-facts-62"}, "x.io/stay"),
  };
  for (size_t i = 0; i < denied.size(); ++i)
    EXPECT_TRUE(FailedWith(denied[i], kube::Code::kPermissionDenied)) << i;
  // All shared objects have room in the one that names them.
  fleet::SharedVersions versions;
  for (const std::string& name : fleet::SharedNames()) versions[name] = std::string(20, '9');
  versions.erase(head);
  ImageFacts full;
  full.mutable_metadata()->set_name(head);
  full.mutable_metadata()->set_namespace_("team");
  full.configuration = fleet::ToText(versions);
  EXPECT_TRUE(west_->Run(kube::Create(west_->client(), full)));

  for (FleetCluster* cluster : {hub_.get(), east_.get(), west_.get()}) {
    EXPECT_EQ(cluster->Logs().find("orbidden"), std::string::npos) << cluster->Logs();
  }
}

}  // namespace
}  // namespace e2e
