// SPDX-License-Identifier: Apache-2.0
// KEP-2249 with the real scheduler and the real quota admission: pod affinity terms that policies
// add (scheduling-policies/merge.h) look at the namespaces that they say, survive both gates, and
// count for the quota scope CrossNamespacePodAffinity.
#include "e2e/cluster_harness/process_cluster.h"
#include "kube/client/typed.h"
#include "kube/types/object_fields.h"
#include "scheduling-policies/flows/policy_flow.h"
#include "scheduling-policies/merge.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;
using policy::kClusterPodSchedulingPolicies;

constexpr const char* kArm = "node-arm64";

// A required anti-affinity term to pods app=db on the same node, with `more` members.
Json ApartFromDatabases(const Json& more) {
  Json term = {{"topologyKey", "kubernetes.io/hostname"},
               {"labelSelector", {{"matchLabels", {{"app", "db"}}}}}};
  term.update(more);
  return term;
}
Json Required(const Json& term) {
  return {{"requiredDuringSchedulingIgnoredDuringExecution", Json::array({term})}};
}
Json Preferred(const Json& term) {
  return {{"preferredDuringSchedulingIgnoredDuringExecution",
           Json::array({{{"weight", 1}, {"podAffinityTerm", term}}})}};
}
const Json kEverywhere = {{"namespaceSelector", Json::object()}};

// The scheduler found no node for the pod because of anti-affinity.
Condition KeptApart(const std::string& pod) {
  return OfPod(pod, "is kept from its node by anti-affinity", [](const Json& json) {
    const Json* scheduled = kube::ConditionOf(json, "PodScheduled");
    return scheduled != nullptr && kube::StringAt(*scheduled, "reason") == "Unschedulable" &&
           kube::StringAt(*scheduled, "message").find("anti-affinity rules") != std::string::npos;
  });
}

Condition RunsOn(const std::string& pod, const std::string& node) {
  return OfPod(pod, "runs on " + node, [node](const Json& json) { return NodeOf(json) == node; });
}

bool HasRequiredTerms(const Json& pod) {
  return kube::Find(pod,
                    "spec.affinity.podAntiAffinity."
                    "requiredDuringSchedulingIgnoredDuringExecution") != nullptr;
}

// Pods of an earlier flow, whose namespace is being deleted. The scheduler does not try a pod again
// at once when a pod is gone whose anti-affinity kept it from a node.
Condition NoDatabaseAnywhere() {
  return {.name = "no namespace has a pod with required anti-affinity or app=db",
          .holds = [](Scene& scene) -> Result<> {
            Cluster& cluster = scene.cluster();
            auto pods =
                cluster.Run(kube::ListObjects(cluster.client(), kPods, kube::ListOptions()));
            if (!pods) return pods.error();
            for (const kube::Unstructured& pod : pods->items) {
              if (LabelOf(pod.body(), "app") == "db" || HasRequiredTerms(pod.body()))
                return Error::NotFound("there is " + kube::KeyOf(pod).ToString());
            }
            return Ok();
          }};
}

class CrossNamespaceAffinityFlow : public PolicyFlow {
 protected:
  void SetUp() override {
    PolicyFlow::SetUp();
    Flow(scene(), "earlier flows are over").Await(NoDatabaseAnywhere());
  }
  void TearDown() override {
    if (restarted_) {
      Result<> as_before = RestartApiServer({});
      EXPECT_TRUE(as_before) << as_before.error();
    }
    PolicyFlow::TearDown();
  }

  // Another namespace without gates.
  std::unique_ptr<Scene> OtherNamespace(const std::string& name, const std::string& team = "") {
    Json labels = Json::object();
    if (!team.empty()) labels["team"] = team;
    auto other = Scene::Make(cluster(), name, labels);
    EXPECT_TRUE(other) << other.error();
    if (!other) return nullptr;
    Flow(**other, "pods of another namespace are not gated")
        .Do(Change(kNamespaces, (*other)->ns(),
                   {{"metadata", {{"labels", {{kSceneLabel, "no"}}}}}}));
    return std::move(*other);
  }

  // A pod app=db that fits no other node.
  static PodBuilder Database(const std::string& name, const std::string& node) {
    return MakePod(name)
        .Image("none")
        .Label("app", "db")
        .NodeSelector("kubernetes.io/hostname", node);
  }
  // The pod with the pod anti-affinity of a policy that selects it.
  static Json WithPolicy(const PodBuilder& pod, const Json& anti_affinity) {
    Json spec = {{"podSelector", Json::object()},
                 {"affinity", {{"podAntiAffinity", anti_affinity}}}};
    auto policy = policy::SchedulingPolicy::FromJson(
        {{"metadata", {{"name", "p"}}}, {"spec", spec}}, policy::Scope::kNamespace);
    EXPECT_TRUE(policy && policy->problems.empty());
    const policy::SchedulingPolicy* policies[] = {&*policy};
    auto merged = policy::Merge(pod.Build()["spec"], "/spec", policies);
    EXPECT_TRUE(merged) << merged.error();
    return pod.Build().patch(kube::MustParseJson(merged->patch));
  }
  static Json TermsOf(const Json& pod) {
    const Json* terms = kube::Find(pod, "spec.affinity.podAntiAffinity");
    return terms == nullptr ? Json() : *terms;
  }

  // A quota of pods with cross-namespace affinity, at most 0 or one more than there are. Returns
  // when admission applies it: for some time, the API server admits pods by the quotas that the
  // namespace had before.
  void MakeQuota(const std::string& pods) {
    Json quota = {{"apiVersion", "v1"}, {"kind", "ResourceQuota"}, {"metadata", {{"name", "kep"}}}};
    quota["spec"]["hard"]["pods"] = "0";
    quota["spec"]["scopeSelector"]["matchExpressions"] =
        Json::array({{{"scopeName", "CrossNamespacePodAffinity"}, {"operator", "Exists"}}});
    Flow flow(scene(), "a quota of " + pods + " pods");
    flow.Do(Create(kResourceQuotas, quota)).Await(NewPodsExceedTheQuota(true));
    if (pods == "0") return;
    flow.Do(Change(kResourceQuotas, "kep", {{"spec", {{"hard", {{"pods", pods}}}}}}))
        .Await(NewPodsExceedTheQuota(false));
  }
  Condition NewPodsExceedTheQuota(bool exceed) {
    Json term = ApartFromDatabases(kEverywhere);
    Json pod = WithPolicy(MakePod("probe").Image("none"), Required(term));
    return {.name = exceed ? "the quota refuses pods" : "the quota admits a pod",
            .holds = [this, pod, exceed](Scene&) -> Result<> {
              Result<> created = DryRun(kPods, pod);
              bool refused = !created && created.error().message().find("exceeded quota: kep") !=
                                             std::string::npos;
              if (exceed ? refused : created.has_value()) return Ok();
              return created ? Error::NotFound("a pod is admitted") : created.error();
            }};
  }

  // Restarts the API server with these configurations of admission plugins, until TearDown().
  Result<> RestartApiServer(const std::map<std::string, Json>& admission) {
    restarted_ = true;
    ControlPlane& plane = TheProcessCluster().control_plane();
    Result<> done = TheProcessCluster().KillApiServer();
    if (done) done = plane.StartApiServer(admission);
    if (done) done = TheProcessCluster().AwaitApiServer();
    return done;
  }

 private:
  bool restarted_ = false;
};

TEST_F(CrossNamespaceAffinityFlow, AnEmptySelectorKeepsPodsOfTwoNamespacesApart) {
  auto other = OtherNamespace("other");
  ASSERT_TRUE(other);
  Json term = ApartFromDatabases(kEverywhere);
  Flow(scene(), "the first pod")
      .Do(Create(kPods, Database("first", kArm).Build()))
      .Await(RunsOn("first", kArm));
  Flow(*other, "a pod of another namespace")
      .Do(Create(kPods, WithPolicy(Database("second", kArm), Required(term))))
      .Await(KeptApart("second"))
      .Do(Create(kPods, WithPolicy(Database("elsewhere", "node-s390x"), Required(term))))
      .Await(RunsOn("elsewhere", "node-s390x"));
  // The scheduler respects the terms of running pods as well.
  Flow(scene(), "a pod without the policy")
      .Do(Create(kPods, Database("third", "node-s390x").Build()))
      .Await(KeptApart("third"));
}

TEST_F(CrossNamespaceAffinityFlow, WithoutASelectorOnlyTheOwnNamespaceCounts) {
  auto other = OtherNamespace("other");
  ASSERT_TRUE(other);
  Json term = ApartFromDatabases(Json::object());
  Flow(scene(), "the first pod")
      .Do(Create(kPods, WithPolicy(Database("first", kArm), Required(term))))
      .Await(RunsOn("first", kArm));
  // The same policy, injected into pods of another namespace, is about that namespace.
  Flow(*other, "pods of another namespace")
      .Do(Create(kPods, WithPolicy(Database("second", kArm), Required(term))))
      .Await(RunsOn("second", kArm))
      .Do(Create(kPods, WithPolicy(Database("third", kArm), Required(term))))
      .Await(KeptApart("third"));
}

TEST_F(CrossNamespaceAffinityFlow, ASelectorAndAListAreAUnion) {
  auto listed = OtherNamespace("listed");
  auto selected = OtherNamespace("selected", "db");
  auto neither = OtherNamespace("neither", "web");
  ASSERT_TRUE(listed && selected && neither);
  Flow(*listed, "listed")
      .Do(Create(kPods, Database("db", "node-amd64").Build()))
      .Await(RunsOn("db", "node-amd64"));
  Flow(*selected, "selected")
      .Do(Create(kPods, Database("db", kArm).Build()))
      .Await(RunsOn("db", kArm));
  Flow(*neither, "neither")
      .Do(Create(kPods, Database("db", "node-s390x").Build()))
      .Await(RunsOn("db", "node-s390x"));
  Flow(scene(), "its own")
      .Do(Create(kPods, Database("db", "node-ppc64le").Build()))
      .Await(RunsOn("db", "node-ppc64le"));

  Json team = {{"key", "team"}, {"operator", "In"}, {"values", {"db"}}};
  Json term = ApartFromDatabases(
      {{"namespaces", {listed->ns()}}, {"namespaceSelector", {{"matchExpressions", {team}}}}});
  auto create = [&](const std::string& name, const std::string& node) {
    PodBuilder pod = MakePod(name).Image("none").NodeSelector("kubernetes.io/hostname", node);
    return Create(kPods, WithPolicy(pod, Required(term)));
  };
  Flow(scene(), "a pod for each node")
      .Do(create("with-listed", "node-amd64"))
      .Await(KeptApart("with-listed"))
      .Do(create("with-selected", kArm))
      .Await(KeptApart("with-selected"))
      .Do(create("with-neither", "node-s390x"))
      .Await(RunsOn("with-neither", "node-s390x"))
      .Do(create("with-its-own", "node-ppc64le"))
      .Await(RunsOn("with-its-own", "node-ppc64le"));
}

// Both gates are removed by writes of whole pods in protobuf.
TEST_F(CrossNamespaceAffinityFlow, TermsAreTheSameAfterBothGates) {
  GatePods();
  Flow(scene(), "a shard")
      .Do(Create(MakeConfig("arm64-first").Prefer("arm64", 70)))
      .Await(ShardReady());
  Json own = ApartFromDatabases(Json::object());
  own["labelSelector"] = {{"matchExpressions", {{{"key", "tier"}, {"operator", "DoesNotExist"}}}}};
  Json listed = ApartFromDatabases({{"namespaces", {"farm"}},
                                    {"namespaceSelector", Json::object()},
                                    {"mismatchLabelKeys", {"tier"}}});
  Json terms = Required(ApartFromDatabases(kEverywhere));
  terms["requiredDuringSchedulingIgnoredDuringExecution"].push_back(own);
  terms.update(Preferred(listed));
  PodBuilder web = MakePod("web").Image(Image("demo/multi:1")).Label("app", "web");
  Flow(scene(), "a pod through both gates")
      .Do(Create(kPods, WithPolicy(web, terms)))
      .Await(Prefers("web", {{"arm64", 70}}))
      .Await(Requires("web", {"amd64", "arm64", "ppc64le", "s390x"}))
      .Never(ClusterGateRemovedBeforeLocal())
      .Never(CreatedWithoutClusterGate());
  const PodHistory* pod = scene().pods().Find("web");
  ASSERT_NE(pod, nullptr);
  EXPECT_TRUE(HasGate(pod->events.front().pod, api::kLocalGate));
  for (const PodEvent& event : pod->events)
    EXPECT_EQ(kube::DumpJson(TermsOf(event.pod)), kube::DumpJson(terms));
}

// The same through the webhook.
TEST_F(CrossNamespaceAffinityFlow, AServedPolicyKeepsPodsApartAndCountsForTheQuota) {
  auto other = OtherNamespace("other");
  ASSERT_TRUE(other);
  Json anti_affinity = Required(ApartFromDatabases(kEverywhere));
  Json policy = ClusterPolicy("{}");
  policy["spec"]["podSelector"]["matchLabels"]["app"] = "db";
  policy["spec"]["namespaceSelector"]["matchExpressions"] =
      Json::array({{{"key", "kubernetes.io/metadata.name"},
                    {"operator", "In"},
                    {"values", {scene().ns(), other->ns()}}}});
  policy["spec"]["affinity"]["podAntiAffinity"] = anti_affinity;
  EnablePolicies();
  Flow(scene(), "the first pod")
      .Do(Create(kClusterPodSchedulingPolicies, policy))
      .Await(HasStatusCondition(kClusterPodSchedulingPolicies, "p", "Ready", "True"))
      .Do(Create(Database("first", kArm)))
      .Await(RunsOn("first", kArm));
  Flow(*other, "a pod of another namespace")
      .Do(Create(Database("second", kArm)))
      .Await(KeptApart("second"))
      .Do(Create(MakePod("web").Image("none").NodeSelector("kubernetes.io/hostname", kArm)))
      .Await(RunsOn("web", kArm));
  MakeQuota("0");
  Flow(scene(), "a quota without room")
      .Refused(Create(Database("third", kArm)), {"exceeded quota: kep", "used: pods=1"})
      .Do(Create(MakePod("web").Image("none")));

  GatePods();
  Flow(*other, "the other namespace is gated")
      .Do(Change(kNamespaces, other->ns(), {{"metadata", {{"labels", {{kSceneLabel, "true"}}}}}}))
      .Do(Create(MakeConfig("arm64-first").Prefer("arm64", 70)))
      .Await(ShardReady())
      .Do(Create(MakePod("gated").Image(Image("demo/multi:1")).Label("app", "db")))
      .Await(Prefers("gated", {{"arm64", 70}}));
  const PodHistory* pod = other->pods().Find("gated");
  ASSERT_NE(pod, nullptr);
  for (std::string_view gate : {api::kLocalGate, api::kClusterGate})
    EXPECT_TRUE(HasGate(pod->events.front().pod, gate)) << gate;
  for (const PodEvent& event : pod->events)
    EXPECT_EQ(kube::DumpJson(TermsOf(event.pod)), kube::DumpJson(anti_affinity));
}

TEST_F(CrossNamespaceAffinityFlow, PodsCountForTheQuota) {
  MakeQuota("1");
  PodBuilder pod = MakePod("").Image("none");
  auto named = [&](const char* name) { return PodBuilder(pod).Set("/metadata/name", name); };
  const std::vector<std::string> quota = {"exceeded quota: kep", "limited: pods=1"};
  Json elsewhere = ApartFromDatabases(kEverywhere);
  Json itself = ApartFromDatabases({{"namespaces", {scene().ns()}}});
  Flow(scene(), "a quota of one pod")
      .Do(Create(kPods, WithPolicy(named("one"), Required(elsewhere))))
      .Refused(Create(kPods, WithPolicy(named("two"), Required(elsewhere))), quota)
      .Refused(Create(kPods, WithPolicy(named("preferred"), Preferred(elsewhere))), quota)
      .Refused(Create(kPods, WithPolicy(named("itself"), Required(itself))), quota)
      .Do(Create(kPods, WithPolicy(named("own"), Required(ApartFromDatabases(Json::object())))))
      .Do(Create(kPods, named("without-policy").Build()));
}

TEST_F(CrossNamespaceAffinityFlow, AQuotaOfZeroRefusesPodsButNoTemplate) {
  MakeQuota("0");
  PodBuilder pod = MakePod("web").Image("none").Label("app", "web");
  Json refused = WithPolicy(pod, Required(ApartFromDatabases(kEverywhere)));
  DeploymentBuilder deployment = MakeDeployment("web", pod);
  deployment.Set("/spec/template/spec/affinity", refused["spec"]["affinity"]);
  Flow(scene(), "a quota of no pods")
      .Refused(Create(kPods, refused), {"exceeded quota: kep", "limited: pods=0"})
      .Do(Create(deployment))
      .Await({"the ReplicaSet says why it has no pods",
              [](Scene& scene) -> Result<> {
                auto sets = scene.List(kReplicaSets);
                if (!sets) return sets.error();
                for (const Json& set : *sets) {
                  if (kube::DumpJson(set).find("exceeded quota: kep") != std::string::npos)
                    return Ok();
                }
                return Error::NotFound("no condition of a ReplicaSet");
              }})
      .Do(Create(kPods, PodBuilder(pod).Set("/metadata/name", "without-policy").Build()));
}

// An API server that is configured so that namespaces need a quota for such pods.
TEST_F(CrossNamespaceAffinityFlow, ALimitedScopeNeedsAQuota) {
  Json limited = {{"resource", "pods"}};
  limited["matchScopes"] =
      Json::array({{{"scopeName", "CrossNamespacePodAffinity"}, {"operator", "Exists"}}});
  Json configuration = {{"apiVersion", "apiserver.config.k8s.io/v1"},
                        {"kind", "ResourceQuotaConfiguration"},
                        {"limitedResources", Json::array({limited})}};
  Result<> restarted = RestartApiServer({{"ResourceQuota", configuration}});
  ASSERT_TRUE(restarted) << restarted.error();

  Json term = ApartFromDatabases(kEverywhere);
  auto created =
      scene().Create(kPods, WithPolicy(MakePod("no-quota").Image("none"), Required(term)));
  EXPECT_FALSE(created);
  if (!created) {
    EXPECT_NE(created.error().message().find("insufficient quota to match these scopes"),
              std::string::npos)
        << created.error();
    EXPECT_FALSE(kube::FailedWith(created, kube::Code::kPermissionDenied)) << "a plain error";
  }
  Flow(scene(), "the scope is limited")
      .Do(Create(kPods, MakePod("without-policy").Image("none").Build()));
  MakeQuota("1");
  Flow(scene(), "a quota allows it")
      .Do(Create(kPods, WithPolicy(MakePod("one").Image("none"), Required(term))))
      .Refused(Create(kPods, WithPolicy(MakePod("two").Image("none"), Required(term))),
               {"exceeded quota: kep"});
}

}  // namespace
}  // namespace e2e
