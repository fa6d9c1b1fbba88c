// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/fleet_store.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>

#include "fleet/testing/make_object.h"
#include "kube/testing/fake_clock.h"
#include "kube/types/unstructured.h"

namespace fleet {
namespace {

using kube::Json;
using namespace std::chrono_literals;

// Sets "east" and "west" (exclusive) and "all"; namespace ns1 binds east and all, ns2 binds west.
// ns1/east, ns1/west and ns1/any select from east, west and what is bound; ns2/west from what is.
// ns1/scored reads a score in "all", ns1/cel any field.
class FleetStoreTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"east", "west"}) PutSet(name, "{}");
    PutSet("all", kSelectsAll);
    Bind("ns1", "east");
    Bind("ns1", "all");
    Bind("ns2", "west");
    PutPlacement("ns1", "east", R"({"clusterSets": ["east"]})");
    PutPlacement("ns1", "west", R"({"clusterSets": ["west"]})");
    PutPlacement("ns1", "any", "{}");
    PutPlacement("ns2", "west", "{}");
    PutPlacement("ns1", "scored", R"({"clusterSets": ["all"],
        "predicates": [{"requiredClusterSelector": {"labelSelector":
            {"matchLabels": {"zone": "a"}}}}],
        "prioritizerPolicy": {"configurations": [{"scoreCoordinate":
            {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}}]}})");
    PutPlacement("ns1", "cel", R"({"clusterSets": ["all"],
        "predicates": [{"requiredClusterSelector": {"celSelector":
            {"celExpressions": ["true"]}}}]})");
    PutCluster("c1", kEast);
    PutCluster("c2", kWest);
    EXPECT_TRUE(woken_.empty()) << "before all watches are complete";
    store_.WakeAll();
    EXPECT_EQ(woken_.size(), 6u);
  }

  void PutSet(const std::string& name, std::string_view spec, int64_t generation = 1) {
    store_.Put(MakeClusterSet(name, spec)
                   .Set("/metadata/uid", "u-" + name)
                   .Set("/metadata/generation", generation)
                   .As<ManagedClusterSet>());
  }
  void Bind(const std::string& ns, const std::string& set) {
    store_.Put(MakeSetBinding(ns, set).As<ManagedClusterSetBinding>());
  }
  static Json PlacementJson(const std::string& ns, const std::string& name,
                            const std::string& spec) {
    return MakePlacement(ns, name, spec)
        .Set("/metadata/uid", "u-" + ns + name)
        .Set("/metadata/resourceVersion", "10");
  }
  void PutPlacement(const std::string& ns, const std::string& name, const std::string& spec) {
    store_.Put(Placement::FromJson(PlacementJson(ns, name, spec)).value());
  }
  void PutCluster(const std::string& name, Json labels, Json taints = Json::array()) {
    store_.Put(MakeManagedCluster(name)
                   .Set("/metadata/labels", std::move(labels))
                   .Set("/spec/taints", std::move(taints))
                   .As<ManagedCluster>());
  }
  void PutScore(const std::string& cluster, const std::string& name, int value) {
    store_.Put(AddOnPlacementScore{.cluster = cluster, .name = name, .scores = {{"s", value}}});
  }
  static PlacementDecision Page(const std::string& ns, const std::string& placement,
                                std::vector<Decision> decisions) {
    return {.ns = ns,
            .name = placement + "-decision-1",
            .resource_version = "10",
            .placement = placement,
            .decisions = std::move(decisions)};
  }
  // The Placements that `change` wakes, as "ns1/any ns1/east".
  std::string Woken(const std::function<void()>& change) {
    woken_.clear();
    change();
    std::string text;
    for (const std::string& key : woken_) text += (text.empty() ? "" : " ") + key;
    return text;
  }

  const Json kEast = {{"cluster.open-cluster-management.io/clusterset", "east"}};
  const Json kWest = {{"cluster.open-cluster-management.io/clusterset", "west"}};
  std::set<std::string> woken_;
  kube::FakeClock clock_;
  FleetStore store_{clock_, [this](const kube::ObjectKey& key) { woken_.insert(key.ToString()); }};
};

TEST_F(FleetStoreTest, ClustersWakeByTheirSetsBeforeAndAfter) {
  EXPECT_EQ(Woken([&] { PutCluster("c1", kEast); }), "ns1/cel");
  Json labelled = kEast;
  labelled["zone"] = "a";
  EXPECT_EQ(Woken([&] { PutCluster("c1", labelled); }), "ns1/cel ns1/scored");
  EXPECT_EQ(Woken([&] { PutCluster("c1", kEast, kube::MustParseJson(R"([{"key": "k"}])")); }),
            "ns1/any ns1/cel ns1/east ns1/scored");
  EXPECT_EQ(Woken([&] { PutCluster("c1", kWest); }), "ns1/any ns1/cel ns1/east ns2/west");
  EXPECT_EQ(Woken([&] { store_.RemoveCluster("c1"); }), "ns1/any ns1/cel ns1/scored ns2/west");
  EXPECT_EQ(Woken([&] { store_.RemoveCluster("c1"); }), "");
  EXPECT_EQ(Woken([&] { PutCluster("c1", kEast); }), "ns1/any ns1/cel ns1/east ns1/scored");
}

TEST_F(FleetStoreTest, SetsAndBindings) {
  EXPECT_EQ(Woken([&] { PutSet("west", "{}", 1); }), "") << "only its status";
  EXPECT_EQ(Woken([&] { PutSet("west", "{}", 2); }), "ns2/west");
  EXPECT_EQ(Woken([&] { store_.RemoveSet("west"); }), "ns2/west");
  EXPECT_EQ(Woken([&] { Bind("ns1", "west"); }), "ns1/any ns1/west");
  EXPECT_EQ(Woken([&] { Bind("ns1", "west"); }), "");
  EXPECT_EQ(Woken([&] { store_.RemoveBinding({"ns1", "west"}); }), "ns1/any ns1/west");
  EXPECT_EQ(Woken([&] { store_.RemoveBinding({"ns1", "west"}); }), "");
  EXPECT_EQ(Woken([&] { store_.RemoveBinding({"none", "none"}); }), "");
  EXPECT_FALSE(store_.fleet().bindings.at("ns1").contains("west"));
}

TEST_F(FleetStoreTest, ScoresWakeWhoReadsThem) {
  EXPECT_EQ(Woken([&] { PutScore("c1", "r", 5); }), "ns1/cel ns1/scored");
  EXPECT_EQ(Woken([&] { PutScore("c1", "r", 5); }), "");
  EXPECT_EQ(Woken([&] { PutScore("c1", "r", 6); }), "ns1/cel ns1/scored");
  EXPECT_EQ(Woken([&] { PutScore("c1", "other", 6); }), "ns1/cel");
  EXPECT_EQ(Woken([&] { PutScore("unknown", "r", 6); }), "");
  EXPECT_EQ(Woken([&] { store_.RemoveScore({"c1", "r"}); }), "ns1/cel ns1/scored");
  EXPECT_EQ(Woken([&] { store_.RemoveScore({"c1", "r"}); }), "");
}

TEST_F(FleetStoreTest, PlacementsWakeThemselves) {
  Json json = PlacementJson("ns1", "any", "{}");
  auto put = [&] { store_.Put(Placement::FromJson(json).value()); };
  EXPECT_EQ(Woken(put), "");
  json["metadata"]["resourceVersion"] = "11";
  EXPECT_EQ(Woken(put), "");
  json["metadata"]["generation"] = 2;
  EXPECT_EQ(Woken(put), "ns1/any");
  json["metadata"]["annotations"]
      ["cluster.open-cluster-management.io/experimental-scheduling-"
       "disable"] = "true";
  EXPECT_EQ(Woken(put), "ns1/any");
  json["status"]["numberOfSelectedClusters"] = 7;
  EXPECT_EQ(Woken(put), "ns1/any") << "another client wrote it";
  EXPECT_EQ(Woken([&] { store_.RemovePlacement({"ns1", "any"}); }), "ns1/any");
  EXPECT_EQ(store_.Find({"ns1", "any"}), nullptr);
}

TEST_F(FleetStoreTest, OwnWritesWakeNobody) {
  Json json = PlacementJson("ns1", "any", "{}");
  json["metadata"]["resourceVersion"] = "12";
  json["status"]["numberOfSelectedClusters"] = 7;
  EXPECT_EQ(Woken([&] { store_.PutWritten(Placement::FromJson(json).value()); }), "");
  EXPECT_EQ(Woken([&] { store_.Put(Placement::FromJson(json).value()); }), "");
  json["metadata"]["resourceVersion"] = "11";
  json["status"]["numberOfSelectedClusters"] = 6;
  EXPECT_EQ(Woken([&] { store_.Put(Placement::FromJson(json).value()); }), "") << "older";
  EXPECT_EQ(store_.Find({"ns1", "any"})->status.number_of_selected_clusters, 7);

  PlacementDecision page = Page("ns1", "any", {{"c1"}});
  EXPECT_EQ(Woken([&] { store_.PutWritten(page); }), "");
  EXPECT_EQ(Woken([&] { store_.Put(page); }), "");
}

TEST_F(FleetStoreTest, ImageFactsAreSharedOfSetsThatSaySo) {
  EXPECT_FALSE(store_.SharesImageFacts("c1"));
  auto put = [&](const std::string& value) {
    store_.Put(MakeClusterSet("east", "{}")
                   .Set("/metadata/uid", "u-east")
                   .Set("/metadata/generation", 1)
                   .Label(std::string(kImageFactsLabel), value)
                   .As<ManagedClusterSet>());
  };
  put("trusted");
  EXPECT_TRUE(store_.SharesImageFacts("c1"));
  EXPECT_FALSE(store_.SharesImageFacts("c2"));
  EXPECT_FALSE(store_.SharesImageFacts("missing"));
  put("true");
  EXPECT_FALSE(store_.SharesImageFacts("c1"));
}

TEST_F(FleetStoreTest, NamespacesReachTheClustersOfTheirBoundSets) {
  EXPECT_TRUE(store_.MaySelect("ns1", "c1"));
  EXPECT_TRUE(store_.MaySelect("ns1", "c2")) << "by the set all";
  EXPECT_TRUE(store_.MaySelect("ns2", "c2"));
  EXPECT_FALSE(store_.MaySelect("ns2", "c1")) << "east is not bound there";
  EXPECT_FALSE(store_.MaySelect("ns3", "c1")) << "nothing is bound there";
  EXPECT_FALSE(store_.MaySelect("ns1", "c3")) << "there is no such cluster";
  PutCluster("c1", kWest);
  EXPECT_TRUE(store_.MaySelect("ns2", "c1"));
  store_.RemoveBinding({"ns2", "west"});
  EXPECT_FALSE(store_.MaySelect("ns2", "c1"));
  store_.RemoveSet("all");
  EXPECT_FALSE(store_.MaySelect("ns1", "c2")) << "the set is bound, and does not exist";
}

TEST_F(FleetStoreTest, ListenersHearOfDecisionsAndOfWhatANamespaceReaches) {
  std::set<std::string> told;
  store_.OnDecisions([&](const kube::ObjectKey& key) { told.insert(key.ns + "/" + key.name); });
  auto hears = [&](const std::function<void()>& change) {
    told.clear();
    change();
    std::string text;
    for (const std::string& key : told) text += (text.empty() ? "" : " ") + key;
    return text;
  };
  EXPECT_EQ(hears([&] { store_.Put(Page("ns1", "any", {{"c1"}})); }), "ns1/any");
  EXPECT_EQ(hears([&] { store_.Put(Page("ns1", "any", {{"c1"}})); }), "");
  PlacementDecision page = Page("ns1", "any", {{"c2"}});
  page.resource_version = "11";
  EXPECT_EQ(hears([&] { store_.PutWritten(page); }), "ns1/any");
  EXPECT_EQ(hears([&] { store_.RemoveWritten({"ns1", "any-decision-1"}); }), "ns1/any");
  EXPECT_EQ(hears([&] { store_.RemovePlacement({"ns1", "any"}); }), "ns1/any");

  EXPECT_EQ(hears([&] { PutCluster("c1", kEast, kube::MustParseJson(R"([{"key": "k"}])")); }), "");
  EXPECT_EQ(hears([&] { PutCluster("c1", kWest); }), "ns1/ ns2/");
  EXPECT_EQ(hears([&] { store_.RemoveCluster("c1"); }), "ns1/ ns2/");
  EXPECT_EQ(hears([&] { PutSet("west", "{}", 1); }), "");
  EXPECT_EQ(hears([&] { store_.RemoveSet("west"); }), "ns2/");
  EXPECT_EQ(hears([&] { Bind("ns3", "west"); }), "ns3/");
  EXPECT_EQ(hears([&] { store_.RemoveBinding({"ns3", "west"}); }), "ns3/");
}

TEST_F(FleetStoreTest, DecisionsWakeTheirPlacementAlone) {
  EXPECT_EQ(Woken([&] { store_.Put(Page("ns1", "any", {{"c1"}})); }), "ns1/any");
  EXPECT_EQ(store_.fleet().decisions.at("c1"), 1);
  EXPECT_EQ(Woken([&] { store_.Put(Page("ns9", "nobody", {{"c1"}})); }), "");
  EXPECT_EQ(store_.fleet().decisions.at("c1"), 2);
  EXPECT_EQ(Woken([&] { store_.RemoveDecision({"ns1", "any-decision-1"}); }), "ns1/any");
  EXPECT_EQ(store_.fleet().decisions.at("c1"), 1);
}

TEST(FleetStoreBudgetTest, AClusterThatIsLeftOutLosesItsClaimsOnly) {
  kube::FakeClock clock;
  FleetStore store(clock, [](const kube::ObjectKey&) {});
  MakeObject object = MakeManagedCluster("c1").Label("a", "b");
  object.Set("/status/clusterClaims", kube::MustParseJson(R"([{"name": "n", "value": "v"}])"));
  store.Put(object.As<ManagedCluster>());
  store.LeaveOutCluster("c1", nullptr);
  const ManagedCluster& stored = store.fleet().clusters.at("c1");
  EXPECT_EQ(stored.claims.size(), 0u);
  EXPECT_EQ(stored.labels.Find("a"), "b");

  for (int i = 0; i < 100; ++i) object.Label("label-" + std::to_string(i), std::string(60, 'l'));
  ManagedCluster large = object.As<ManagedCluster>();
  store.LeaveOutCluster("c1", &large);
  EXPECT_FALSE(store.fleet().clusters.contains("c1"));
  store.LeaveOutCluster("c1", nullptr);
}

}  // namespace
}  // namespace fleet
