// SPDX-License-Identifier: Apache-2.0
// Requests. The numbers are those of the contract's examples; merge_test.cc has the others.
#include "scheduling-policies/target.h"

#include <gtest/gtest.h>

#include "api/names.h"
#include "scheduling-policies/index.h"
#include "scheduling-policies/merge.h"
#include "scheduling-policies/testing/words.h"

namespace policy {
namespace {

using kube::Json;

constexpr char kOperatorNamespace[] = "operator";

Json Merge(Json object, const char* patch) {
  object.merge_patch(kube::MustParseJson(patch));
  return object;
}

// The smallest objects of each kind, with the label app=x on the pods.
Json Pod(const char* patch = "{}") {
  Json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  pod["metadata"] = {{"name", "p"}, {"namespace", "shop"}, {"labels", {{"app", "x"}}}};
  pod["spec"]["containers"] = Json::array({{{"name", "c"}, {"image", "i"}}});
  return Merge(std::move(pod), patch);
}

Json Workload(const char* patch = "{}") {
  Json workload = {{"metadata", {{"name", "w"}, {"namespace", "shop"}}}};
  workload["spec"]["template"] = {{"metadata", Pod()["metadata"]}, {"spec", Pod()["spec"]}};
  return Merge(std::move(workload), patch);
}

Json CronJob() {
  Json cron_job = {{"metadata", {{"name", "w"}, {"namespace", "shop"}}}};
  cron_job["spec"]["jobTemplate"] = Workload();
  return cron_job;
}

constexpr char kOwner[] = R"({"metadata": {"ownerReferences": [
    {"apiVersion": "apps/v1", "kind": "%", "name": "o", "controller": true}]}})";

std::string OwnedBy(std::string kind) {
  std::string text = kOwner;
  return text.replace(text.find('%'), 1, kind);
}

struct Review {
  const char* resource;   // "apps/deployments", "pods"
  const char* operation;  // "CREATE", "UPDATE"
  Json object;
  Json old_object = nullptr;
  std::string ns = "shop";
  std::map<std::string, std::string> namespace_labels = {};
  const char* subresource = "";
  bool only_changed_templates = false;
  const char* user = "ann";
};

placement::Labels LabelsFrom(const std::map<std::string, std::string>& map) {
  placement::Labels labels;
  for (const auto& [key, value] : map) labels[key] = value;
  return labels;
}

Target TargetOf(const Review& review, const placement::Labels& labels) {
  std::string_view resource = review.resource;
  size_t slash = resource.find('/');
  Request request{.subresource = review.subresource,
                  .operation = review.operation,
                  .ns = review.ns,
                  .user = review.user,
                  .object = &review.object};
  if (slash != std::string_view::npos) request.group = resource.substr(0, slash);
  request.resource = resource.substr(slash == std::string_view::npos ? 0 : slash + 1);
  if (!review.old_object.is_null()) request.old_object = &review.old_object;
  return FindTarget(request, labels,
                    {.operator_namespace = kOperatorNamespace,
                     .only_changed_templates = review.only_changed_templates});
}

// What the webhook will do with a request: the object after admission.
Json Admit(const std::vector<Json>& policies, const Review& review) {
  placement::Labels labels = LabelsFrom(review.namespace_labels);
  Index index;
  index.PutNamespace(review.ns, labels);
  for (const Json& json : policies) {
    Scope scope = json["metadata"].contains("namespace") ? Scope::kNamespace : Scope::kCluster;
    index.Put(*SchedulingPolicy::FromJson(json, scope));
  }
  Target target = TargetOf(review, labels);
  if (!target) return review.object;
  auto selected = index.For(review.ns, PodLabels(review.object, target));
  EXPECT_TRUE(selected);
  if (target.only_cluster_policies)
    std::erase_if(selected->policies, [](const auto* policy) { return !policy->of_cluster(); });
  auto merged = policy::Merge(*target.spec, target.SpecPointer(), selected->policies);
  EXPECT_TRUE(merged) << merged.error();
  return Patched(review.object, merged->patch);
}

Json PolicyWith(const char* name, const char* spec) {
  return Merge(PolicyJson(std::string(name) + " inj:yes"),
               (std::string(R"({"spec": )") + spec + "}").c_str());
}

const Json kAny = PolicyJson("N inj:yes");
const Json kAnyOfCluster = PolicyJson("C inj:yes");

TEST(TargetTest, Examples) {
  Json relabelled = Workload(R"({"metadata": {"labels": {"new": "label"}}})");
  Json restarted =
      Workload(R"({"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}})");
  const Json operand_template = Workload(
      R"({"spec": {"template": {"metadata": {"labels": {"multiarch.openshift.io/operand": "x"}}}}})");
  const Json off_limits = Pod(R"({"metadata": {"namespace": "kube-system"}})");
  struct Example {
    int number;
    std::vector<Json> policies;
    Review review;
    const char* injected;  // where, as a JSON Pointer; "": nowhere
  };
  constexpr char kOptsOut[] =
      R"({"metadata": {"labels": {"multiarch.openshift.io/exclude-pod-placement": ""}}})";
  constexpr char kPod[] = "/spec";
  constexpr char kTemplate[] = "/spec/template/spec";
  const Example examples[] = {
      {1, {PolicyWith("N", R"({"podSelector": null})")}, {"pods", "CREATE", Pod()}, ""},
      {2, {kAny}, {"pods", "CREATE", Pod(R"({"metadata": {"labels": null}})")}, kPod},
      {3, {PolicyWith("C", R"({"namespaceSelector": null})")}, {"pods", "CREATE", Pod()}, ""},
      {4, {kAnyOfCluster}, {"pods", "CREATE", Pod()}, kPod},
      {5,
       {PolicyWith("C", R"({"namespaceSelector": {"matchLabels": {"env": "prod"}}})")},
       {.resource = "pods",
        .operation = "CREATE",
        .object = Pod(),
        .namespace_labels = {{"env", "dev"}}},
       ""},
      {5,
       {PolicyWith("C", R"({"namespaceSelector": {"matchLabels": {"env": "prod"}}})")},
       {.resource = "pods",
        .operation = "CREATE",
        .object = Pod(),
        .namespace_labels = {{"env", "prod"}}},
       kPod},
      {6,
       {PolicyWith("N", R"({"podSelector": {"matchExpressions":
           [{"key": "t", "operator": "NotIn", "values": ["db"]}]}})")},
       {"pods", "CREATE", Pod()},
       kPod},
      {7,
       {PolicyWith("N", R"({"podSelector": {"matchLabels": {"app": "y"}}})")},
       {"apps/deployments", "CREATE", Workload(R"({"metadata": {"labels": {"app": "y"}}})")},
       ""},
      {8,
       {PolicyWith("N", R"({"podSelector": {"matchLabels": {"pod": "db-0"}}})")},
       {"apps/statefulsets", "CREATE", Workload()},
       ""},
      {8,
       {PolicyWith("N", R"({"podSelector": {"matchLabels": {"pod": "db-0"}}})")},
       {"pods", "CREATE", Pod(R"({"metadata": {"labels": {"pod": "db-0"}}})")},
       kPod},
      {9,
       {PolicyWith("N-bad", R"({"podSelector": {"matchExpressions":
           [{"key": "app", "operator": "Near"}]}})"),
        PolicyJson("N-good inj:yes")},
       {"pods", "CREATE", Pod()},
       kPod},
      {35, {kAny}, {"pods", "CREATE", Pod(OwnedBy("DaemonSet").c_str())}, kPod},
      {35,
       {kAny},
       {.resource = "pods",
        .operation = "CREATE",
        .object = Pod(OwnedBy("DaemonSet").c_str()),
        .user = "system:serviceaccount:kube-system:daemon-set-controller"},
       ""},
      {35,
       {kAny},
       {.resource = "pods",
        .operation = "CREATE",
        .object = Pod(OwnedBy("ReplicaSet").c_str()),
        .user = "system:kube-controller-manager"},
       kPod},
      {36, {kAny}, {"apps/daemonsets", "CREATE", Workload()}, kTemplate},
      {49, {kAny}, {"pods", "CREATE", Pod()}, kPod},
      {51,
       {kAny},
       {"pods", "CREATE",
        Pod(R"({"metadata": {"annotations": {"kubernetes.io/config.mirror": "h"}}})")},
       kPod},
      {51,
       {kAny},
       {.resource = "pods",
        .operation = "CREATE",
        .object = Pod(R"({"metadata": {"annotations": {"kubernetes.io/config.mirror": "h"}}})"),
        .user = "system:node:n1"},
       ""},
      {51, {kAny}, {"pods", "UPDATE", Pod(), Pod()}, ""},
      {52, {kAny}, {"batch/jobs", "CREATE", Workload()}, kTemplate},
      {52, {kAny}, {"batch/jobs", "UPDATE", Workload(), Workload()}, ""},
      {53, {kAny}, {"apps/deployments", "UPDATE", relabelled, Workload()}, kTemplate},
      {53,
       {kAny},
       {.resource = "apps/deployments",
        .operation = "UPDATE",
        .object = relabelled,
        .old_object = Workload(),
        .only_changed_templates = true},
       ""},
      {53,
       {kAny},
       {.resource = "apps/deployments",
        .operation = "UPDATE",
        .object = restarted,
        .old_object = Workload(),
        .only_changed_templates = true},
       kTemplate},
      {54, {kAny}, {"apps/replicasets", "CREATE", Workload(OwnedBy("Deployment").c_str())}, ""},
      {54, {kAny}, {"apps/replicasets", "CREATE", Workload()}, kTemplate},
      {55, {kAny}, {"batch/cronjobs", "CREATE", CronJob()}, "/spec/jobTemplate/spec/template/spec"},
      {56,
       {kAny},
       {"apps/deployments", "UPDATE",
        Workload(R"({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})"), Workload()},
       ""},
      {57,
       {kAnyOfCluster},
       {.resource = "pods", .operation = "CREATE", .object = off_limits, .ns = "kube-system"},
       ""},

      // Beyond the contract's examples.
      {0, {kAny}, {"pods", "CREATE", Pod(OwnedBy("ReplicaSet").c_str())}, kPod},
      {0, {kAny}, {"replicationcontrollers", "UPDATE", Workload(), Workload()}, kTemplate},
      {0, {kAny}, {"apps/statefulsets", "UPDATE", Workload(), Workload()}, kTemplate},
      {0,
       {kAny},
       {"batch/cronjobs", "UPDATE", CronJob(), CronJob()},
       "/spec/jobTemplate/spec/template/spec"},
      {0, {kAny}, {"batch/jobs", "CREATE", Workload(OwnedBy("CronJob").c_str())}, kTemplate},
      {0, {kAny}, {"pods", "DELETE", Pod()}, ""},
      {0, {kAny}, {"example.com/deployments", "CREATE", Workload()}, ""},
      {0, {kAny}, {"apps/deployments", "CREATE", Json::object()}, ""},
      {0, {kAny}, {"apps/deployments", "CREATE", Json::array()}, ""},
      {0, {kAny}, {"pods", "CREATE", Pod(R"({"spec": null})")}, ""},
      {0,
       {kAny},
       {.resource = "pods", .operation = "CREATE", .object = Pod(), .subresource = "eviction"},
       ""},
      {0,
       {kAnyOfCluster},
       {.resource = "pods", .operation = "CREATE", .object = Pod(), .ns = kOperatorNamespace},
       ""},
      {0,
       {kAny},
       {.resource = "pods",
        .operation = "CREATE",
        .object = Pod(),
        .namespace_labels = {{"role", "kube-system"}}},
       ""},
      {0,
       {kAny},
       {"pods", "CREATE",
        Pod(R"({"metadata": {"labels": {"multiarch.openshift.io/operand": "shard"}}})")},
       ""},
      {0,
       {kAnyOfCluster},
       {"pods", "CREATE",
        Pod(R"({"metadata": {"labels": {"multiarch.openshift.io/operand": "shard"}}})")},
       kPod},
      {0,
       {kAny},
       {"apps/deployments", "CREATE",
        Workload(R"({"metadata": {"labels": {"multiarch.openshift.io/operand": "shard"}}})")},
       ""},
      // What opts out of placement by architecture, and who is placed by another scheduler, gets
      // the criteria of both kinds all the same.
      {0, {kAny}, {"pods", "CREATE", Pod(kOptsOut)}, kPod},
      {0, {kAnyOfCluster}, {"pods", "CREATE", Pod(kOptsOut)}, kPod},
      {0,
       {kAnyOfCluster},
       {.resource = "pods",
        .operation = "CREATE",
        .object = Pod(),
        .namespace_labels = {{std::string(api::kExcludeLabel), ""}}},
       kPod},
      {0, {kAnyOfCluster}, {"apps/deployments", "CREATE", Workload(kOptsOut)}, kTemplate},
      {0,
       {kAnyOfCluster},
       {"pods", "CREATE", Pod(R"({"spec": {"schedulerName": "excluded"}})")},
       kPod},
      // The pods of a DaemonSet get only what its template has.
      {0,
       {kAnyOfCluster},
       {"apps/daemonsets", "CREATE",
        Workload(R"({"metadata": {"labels": {"multiarch.openshift.io/operand": "x"}}})")},
       kTemplate},
      {0, {kAnyOfCluster}, {"apps/daemonsets", "UPDATE", operand_template, Workload()}, kTemplate},
      {0, {kAny}, {"apps/daemonsets", "UPDATE", operand_template, Workload()}, ""},
      {0, {kAnyOfCluster}, {"apps/deployments", "UPDATE", operand_template, Workload()}, ""},
  };
  for (const Example& example : examples) {
    Json expected = example.review.object;
    if (*example.injected != '\0')
      expected[Json::json_pointer(example.injected)]["nodeSelector"]["inj"] = "yes";
    Json once = Admit(example.policies, example.review);
    EXPECT_EQ(once, expected) << example.number << " " << example.review.resource;
    Review again = example.review;
    again.object = once;
    EXPECT_EQ(Admit(example.policies, again), once) << example.number;
  }
}

// Examples 48 and 55: what a controller creates from a merged template is merged already.
TEST(TargetTest, APodOfAMergedTemplateIsUnchanged) {
  Json policy = PolicyJson("N [x][y] P9[a] T(all) t(not-ready~9) k:v sched=s");
  Json workload = Admit({policy}, {"apps/statefulsets", "CREATE", Workload()});
  Json pod = Pod(OwnedBy("StatefulSet").c_str());
  pod["spec"] = workload["spec"]["template"]["spec"];
  EXPECT_NE(pod["spec"], Pod()["spec"]);
  EXPECT_EQ(Admit({policy}, {"pods", "CREATE", pod}), pod);

  Json cron_job = Admit({policy}, {"batch/cronjobs", "CREATE", CronJob()});
  Json job = cron_job["spec"]["jobTemplate"];
  EXPECT_EQ(Admit({policy}, {"batch/jobs", "CREATE", job}), job);
}

// Example 49: a later webhook drops what was added.
TEST(TargetTest, ReinvocationAddsWhatWasDropped) {
  Json policy = PolicyJson("N t(k=v) [x]");
  Json once = Admit({policy}, {"pods", "CREATE", Pod()});
  Json dropped = once;
  dropped["spec"].erase("tolerations");
  EXPECT_EQ(Admit({policy}, {"pods", "CREATE", dropped}), once);
}

// Example 60: the pod counts for the quota. The flow of policies shows the refusal.
TEST(TargetTest, AnEmptyNamespaceSelectorIsInjected) {
  Json pod = Admit({PolicyJson("N T(all)")}, {"pods", "CREATE", Pod()});
  EXPECT_EQ(pod["spec"]["affinity"]["podAntiAffinity"][kRequired][0]["namespaceSelector"],
            Json::object());
}

TEST(TargetTest, ThePathsAreThoseOfThePodTemplate) {
  Json cron_job = CronJob();
  Target target = TargetOf({"batch/cronjobs", "CREATE", cron_job}, {});
  ASSERT_TRUE(target) << target.left_unchanged;
  EXPECT_EQ(target.SpecPointer(), "/spec/jobTemplate/spec/template/spec");
  EXPECT_EQ(PodLabels(cron_job, target)["app"], "x");
}

}  // namespace
}  // namespace policy
