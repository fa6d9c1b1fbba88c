// SPDX-License-Identifier: Apache-2.0
// The plugins templates and daemonSets: the API server accepts the requirement in the template of
// a Job that is suspended and does not run, and pods of the Job get nothing that contradicts it;
// DaemonSets whose images lack an architecture of their nodes are reported. The controller has
// rights for Jobs and DaemonSets only while a plugin is on.
#include "api/templates.h"

#include <set>

#include "e2e/framework/flow_fixture.h"
#include "kube/types/list_at.h"
#include "kube/types/workloads.h"

namespace e2e {
namespace {

using kube::Result;

const std::string kAnnotation(api::kTemplateArchitecturesAnnotation);
constexpr kube::Resource kJobs = kube::ResourceOf<kube::workloads::Job>::value;

// The values of all expressions on kubernetes.io/arch that are required.
std::vector<std::string> RequiredIn(const Json& pod_template) {
  std::vector<std::string> values;
  for (const Json& term :
       kube::ListAt(pod_template,
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
                    "nodeSelectorTerms")) {
    for (const Json& expression : kube::ListAt(term, "matchExpressions")) {
      if (kube::StringAt(expression, "key") != api::kArchLabel) continue;
      for (const Json& value : kube::ListAt(expression, "values"))
        values.push_back(value.get<std::string>());
    }
  }
  return values;
}

// The template of the workload requires exactly these, in one term.
Condition TemplateRequires(const kube::Resource& resource, const std::string& name,
                           std::vector<std::string> architectures) {
  return {.name = "the template of " + name + " requires its architectures",
          .holds = [=](Scene& scene) -> Result<> {
            auto workload = scene.Get(resource, name);
            if (!workload) return workload.error();
            const Json& pod_template = kube::ObjectAt(*workload, "spec.template");
            if (RequiredIn(pod_template) == architectures) return kube::Ok();
            return kube::Error::Unavailable(kube::DumpJson(pod_template));
          }};
}

// All pods that the Job has made: `count`, ungated, with these architectures once.
Condition PodsRequire(const std::string& job, size_t count,
                      std::vector<std::string> architectures) {
  return {.name = "the pods of " + job + " require the architectures of its template",
          .holds = [=](Scene& scene) -> Result<> {
            auto pods = scene.List(kPods);
            if (!pods) return pods.error();
            size_t found = 0;
            for (const Json& pod : *pods) {
              const Json& labels = kube::ObjectAt(pod, "metadata.labels");
              if (labels.value("batch.kubernetes.io/job-name", "") != job) continue;
              if (IsGated(pod) || RequiredIn(pod) != architectures)
                return kube::Error::Unavailable(kube::DumpJson(pod));
              ++found;
            }
            if (found == count) return kube::Ok();
            return kube::Error::NotFound(std::to_string(found) + " pods");
          }};
}

bool IsOf(const Json& pod, const std::string& daemon_set) {
  for (const Json& owner : kube::ListAt(pod, "metadata.ownerReferences")) {
    if (kube::StringAt(owner, "kind") == "DaemonSet" && kube::StringAt(owner, "name") == daemon_set)
      return true;
  }
  return false;
}

// The pods of the DaemonSet that are not being deleted are on nodes of each of these architectures,
// and on no others.
Condition RunsOnNodesOf(const std::string& daemon_set, std::set<std::string> architectures) {
  return {.name = daemon_set + " runs only on nodes of its architectures",
          .holds = [=](Scene& scene) -> Result<> {
            auto pods = scene.List(kPods);
            if (!pods) return pods.error();
            std::set<std::string> found;
            for (const Json& pod : *pods) {
              bool deleted = kube::ObjectAt(pod, "metadata").contains("deletionTimestamp");
              if (deleted || !IsOf(pod, daemon_set)) continue;
              auto node = scene.Get(kNodes, NodeOf(pod));
              if (!node) return node.error();
              const Json& labels = kube::ObjectAt(*node, "metadata.labels");
              found.insert(labels.value(std::string(api::kArchLabel), ""));
            }
            if (found == architectures) return kube::Ok();
            return kube::Error::Unavailable(kube::DumpJson(Json(found)));
          }};
}

class TemplatesFlow : public FlowFixture {
 protected:
  void Use(const Json& plugins) {
    ClusterConfigBuilder config = DefaultClusterConfig();
    for (const auto& [name, plugin] : plugins.items()) config.Set("/spec/plugins/" + name, plugin);
    auto used = UseClusterConfig(config);
    ASSERT_TRUE(used) << used.error();
  }
  void UseJobs() { Use({{"templates", {{"suspendedJobs", true}}}}); }

  Json MakeJob(const std::string& name, const PodBuilder& pod, bool suspend = true) {
    Json job = MakeDeployment(name, pod).Build();
    job["apiVersion"] = "batch/v1";
    job["kind"] = "Job";
    job["spec"].erase("replicas");
    job["spec"].erase("selector");
    job["spec"]["suspend"] = suspend;
    job["spec"]["parallelism"] = 2;
    job["spec"]["completions"] = 2;
    job["spec"]["template"]["spec"]["restartPolicy"] = "Never";
    return job;
  }
  Json MakeDaemonSet(const std::string& name, const PodBuilder& pod) {
    Json daemon_set = MakeDeployment(name, pod).Build();
    daemon_set["kind"] = "DaemonSet";
    daemon_set["spec"].erase("replicas");
    return daemon_set;
  }
  PodBuilder Pod(const std::string& image) { return MakePod("").Image(Image(image)); }
  static Step Resume(const std::string& job) {
    return Change(kJobs, job, {{"spec", {{"suspend", false}}}});
  }
  static Step Suspend(const std::string& job) {
    return Change(kJobs, job, {{"spec", {{"suspend", true}}}});
  }
  // The controller of Jobs has seen it.
  static Condition DoesNotRun(const std::string& job) {
    return {.name = job + " does not run", .holds = [=](Scene& scene) -> Result<> {
              auto found = scene.Get(kJobs, job);
              if (!found) return found.error();
              const Json& status = kube::ObjectAt(*found, "status");
              if (!status.contains("startTime") && status.value("active", 0) == 0)
                return kube::Ok();
              return kube::Error::Unavailable(kube::DumpJson(status));
            }};
  }
  static Condition HasRight(const std::string& binding) {
    return Exists(kClusterRoleBindings, binding);
  }
};

TEST_F(TemplatesFlow, ASuspendedJobGetsTheRequirementAndItsPodsKeepIt) {
  UseJobs();
  const std::vector<std::string> both = {"amd64", "arm64"};
  Flow(scene(), "a suspended Job")
      .Do(Create(kJobs, MakeJob("train", Pod("demo/arm64-amd64:1"))))
      .Await(TemplateRequires(kJobs, "train", both))
      .Await(EventAbout("train", std::string(api::kReasonTemplateSet), {"amd64, arm64"}))
      .Do(Resume("train"))
      .Await(PodsRequire("train", 2, both))
      .Check(TemplateRequires(kJobs, "train", both));
}

// As Kueue does with a Job that it preempts. The API server accepts the requirement after a Job
// ran.
TEST_F(TemplatesFlow, AJobThatIsSuspendedAgainGetsTheRequirementOnce) {
  UseJobs();
  const std::vector<std::string> both = {"amd64", "arm64"};
  Flow(scene(), "a Job that is suspended, resumed and suspended")
      .Do(Create(kJobs, MakeJob("train", Pod("demo/arm64-amd64:1"))))
      .Await(TemplateRequires(kJobs, "train", both))
      .Do(Resume("train"))
      .Await(PodsRequire("train", 2, both))
      .Do(Suspend("train"))
      .Await(DoesNotRun("train"))
      .Check(TemplateRequires(kJobs, "train", both))
      .Do(Resume("train"))
      .Await(PodsRequire("train", 2, both));
  Flow(scene(), "a Job that runs first")
      .Do(Create(kJobs, MakeJob("ran", Pod("demo/arm64-amd64:1"), /*suspend=*/false)))
      .Await(PodsRequire("ran", 2, both))
      .Check(TemplateRequires(kJobs, "ran", {}))
      .Do(Suspend("ran"))
      .Await(TemplateRequires(kJobs, "ran", both))
      .Do(Resume("ran"))
      .Await(PodsRequire("ran", 2, both));
}

// The shard sets its preferences in pods with the requirement, by the local gate.
TEST_F(TemplatesFlow, PodsOfSuchAJobGetPreferencesAsAlways) {
  UseJobs();
  const std::vector<std::string> both = {"amd64", "arm64"};
  Flow(scene(), "a suspended Job in a namespace with a config")
      .Do(Create(MakeConfig("first").Prefer("arm64", 40)))
      .Await(ShardReady())
      .Do(Create(kJobs, MakeJob("train", Pod("demo/arm64-amd64:1"))))
      .Await(TemplateRequires(kJobs, "train", both))
      .Do(Resume("train"))
      .Await(PodsRequire("train", 2, both))
      .Never(ClusterGateRemovedBeforeLocal());
  size_t pods = 0;
  for (const PodHistory* pod : scene().pods().All()) {
    // Not those of the shard.
    if (!pod->name.starts_with("train-")) continue;
    ++pods;
    Flow(scene(), "a pod of it").Await(Prefers(pod->name, {{"arm64", 40}}));
  }
  EXPECT_EQ(pods, 2u);
}

TEST_F(TemplatesFlow, TheUsersTermsStay) {
  UseJobs();
  Flow(scene(), "a suspended Job with a term of its author")
      .Do(Create(kJobs, MakeJob("train", Pod("demo/arm64-amd64:1").Require("pool", {"a", "b"}))))
      .Await(TemplateRequires(kJobs, "train", {"amd64", "arm64"}))
      .Check({.name = "one term, with both expressions", .holds = [](Scene& scene) -> Result<> {
                auto job = scene.Get(kJobs, "train");
                if (!job) return job.error();
                const Json& terms = kube::ListAt(
                    *job,
                    "spec.template.spec.affinity.nodeAffinity."
                    "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
                if (terms.size() == 1 && kube::ListAt(terms[0], "matchExpressions").size() == 2)
                  return kube::Ok();
                return kube::Error::Invalid(kube::DumpJson(terms));
              }});
}

// What is not known, or not wanted, is left to the gates.
TEST_F(TemplatesFlow, OtherJobsAreLeftUnchanged) {
  Json plugins = {{"templates", {{"suspendedJobs", true}}}};
  ClusterConfigBuilder config = DefaultClusterConfig();
  config.Set("/spec/plugins/templates", plugins["templates"])
      .Set("/spec/inspectionRetryPeriod", "5s");
  auto used = UseClusterConfig(config);
  ASSERT_TRUE(used) << used.error();
  PodBuilder opts_out = Pod("demo/arm64-amd64:1").Label(std::string(api::kExcludeLabel), "");
  PodBuilder selects =
      Pod("demo/arm64-amd64:1").NodeSelector(std::string(api::kArchLabel), "amd64");
  Flow(scene(), "Jobs that are left unchanged")
      .Do(Create(kJobs, MakeJob("missing", Pod("demo/missing:1"))))
      .Do(Create(kJobs, MakeJob("opts-out", opts_out)))
      .Do(Create(kJobs, MakeJob("selects", selects)))
      .Do(Create(kJobs, MakeJob("running", Pod("demo/arm64-amd64:1"), /*suspend=*/false)))
      .Do(Create(kJobs, MakeJob("train", Pod("demo/arm64-amd64:1"))))
      .Await(TemplateRequires(kJobs, "train", {"amd64", "arm64"}))
      .Await(EventAbout("missing", std::string(api::kReasonTemplateUnchanged)))
      .Check(TemplateRequires(kJobs, "missing", {}))
      .Check(TemplateRequires(kJobs, "opts-out", {}))
      .Check(TemplateRequires(kJobs, "selects", {}))
      .Check(TemplateRequires(kJobs, "running", {}))
      .Await(PodsRequire("running", 2, {"amd64", "arm64"}));
}

TEST_F(TemplatesFlow, ALargeJobHasAnEventThatSaysWhyItIsUnchanged) {
  UseJobs();
  Json large = MakeJob("large", Pod("demo/arm64-amd64:1"));
  large["metadata"]["annotations"] = {{"notes", std::string(200'000, 'x')}};
  Flow(scene(), "a large Job")
      .Do(Create(kJobs, large))
      .Await(EventAbout("large", std::string(api::kReasonTemplateUnchanged), {"128 KiB"}))
      .Check(TemplateRequires(kJobs, "large", {}));
}

TEST_F(TemplatesFlow, TheControllerHasRightsOnlyWhileAPluginIsOn) {
  UseJobs();
  Flow(scene(), "Jobs").Await(HasRight("pod-placement-suspended-jobs"));
  Use({{"daemonSets", {{"report", true}, {"patchTemplates", true}}}});
  Flow(scene(), "DaemonSets")
      .Await(HasRight("pod-placement-daemon-set-report"))
      .Await(HasRight("pod-placement-daemon-set-templates"))
      .Await(Absent(kClusterRoleBindings, "pod-placement-suspended-jobs"));
  Use(Json::object());
  Flow(scene(), "none")
      .Await(Absent(kClusterRoleBindings, "pod-placement-daemon-set-report"))
      .Await(Absent(kClusterRoleBindings, "pod-placement-daemon-set-templates"));
}

TEST_F(TemplatesFlow, ANewDaemonSetRunsOnlyWhereItsImagesDo) {
  Use({{"daemonSets", {{"patchTemplates", true}}}});
  Flow(scene(), "a new DaemonSet")
      .Do(Create(kDaemonSets, MakeDaemonSet("agent", Pod("demo/arm64-amd64:1"))))
      .Await(TemplateRequires(kDaemonSets, "agent", {"amd64", "arm64"}))
      .Await(RunsOnNodesOf("agent", {"amd64", "arm64"}))
      .Never(HadGate());
}

// The report begins when the plugin is switched on.
TEST_F(TemplatesFlow, ADaemonSetThatLacksAnArchitectureIsReported) {
  Use(Json::object());
  Flow flow(scene(), "a DaemonSet for one architecture");
  flow.Do(Create(kDaemonSets, MakeDaemonSet("agent", Pod("demo/amd64:1"))))
      .Do(Create(
          kDaemonSets,
          MakeDaemonSet("selects",
                        Pod("demo/amd64:1").NodeSelector(std::string(api::kArchLabel), "amd64"))));
  Use({{"daemonSets", {{"report", true}}}});
  flow.Await(
          EventAbout("agent", std::string(api::kReasonDaemonSetLacksArchitecture), {"linux/arm64"}))
      .Check(TemplateRequires(kDaemonSets, "agent", {}))
      .Never(HadGate());
}

TEST_F(TemplatesFlow, ARequirementForEarlierImagesIsReported) {
  Use({{"daemonSets", {{"patchTemplates", true}}}});
  Json daemon_set = MakeDaemonSet("agent", Pod("demo/amd64:1"));
  Json containers = daemon_set["spec"]["template"]["spec"]["containers"];
  containers[0]["image"] = Image("demo/arm64-amd64:1");
  Flow flow(scene(), "a DaemonSet whose images change");
  flow.Do(Create(kDaemonSets, daemon_set))
      .Await(TemplateRequires(kDaemonSets, "agent", {"amd64"}))
      .Do(Change(kDaemonSets, "agent",
                 {{"spec", {{"template", {{"spec", {{"containers", containers}}}}}}}}));
  Use({{"daemonSets", {{"report", true}}}});
  flow.Await(EventAbout("agent", std::string(api::kReasonDaemonSetLacksArchitecture),
                        {"linux/arm64", "required amd64"}))
      .Check(TemplateRequires(kDaemonSets, "agent", {"amd64"}));
}

}  // namespace
}  // namespace e2e
