// SPDX-License-Identifier: Apache-2.0
#include "placement/templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "api/templates.h"
#include "api/testing/make_config.h"
#include "kube/testing/encoded_field.h"
#include "kube/testing/make_pod.h"

namespace placement {
namespace {

using kube::MakePod;
using kube::core::Pod;
using kube::workloads::DaemonSet;
using kube::workloads::Job;
using kube::workloads::PodTemplateSpec;

PodTemplateSpec TemplateOf(const Pod& pod) {
  PodTemplateSpec pod_template;
  *pod_template.mutable_metadata()->mutable_labels() = pod.metadata().labels();
  *pod_template.mutable_spec() = pod.spec();
  return pod_template;
}

Job Suspended() {
  Job job;
  job.mutable_metadata()->set_name("train");
  job.mutable_spec()->set_suspend(true);
  *job.mutable_spec()->mutable_template_() = TemplateOf(MakePod("").Image("r.io/app:1"));
  return job;
}

// The affinity that the pods of a template have once they are released.
std::string AffinityOfReleased(Pod pod, const CommonPlatforms& common) {
  ApplyRequirement(pod, common);
  return pod.spec().affinity().SerializeAsString();
}

TEST(TemplatesTest, OnlyASuspendedJobThatDoesNotRunIsChanged) {
  EXPECT_TRUE(MayTakeRequirement(Suspended()));
  Job started = Suspended();
  started.mutable_status()->mutable_start_time()->set_seconds(1);
  EXPECT_FALSE(MayTakeRequirement(started));
  Job running = Suspended();
  running.mutable_spec()->clear_suspend();
  EXPECT_FALSE(MayTakeRequirement(running));
  Job deleted = Suspended();
  deleted.mutable_metadata()->mutable_deletion_timestamp()->set_seconds(1);
  EXPECT_FALSE(MayTakeRequirement(deleted));
  Job done = Suspended();
  (*done.mutable_metadata()
        ->mutable_annotations())[std::string(api::kTemplateArchitecturesAnnotation)] = "";
  EXPECT_FALSE(MayTakeRequirement(done));
  EXPECT_FALSE(MayTakeRequirement(Job()));
}

TEST(TemplatesTest, OnlyADaemonSetOfItsFirstGenerationIsChanged) {
  DaemonSet agent;
  EXPECT_FALSE(MayTakeRequirement(agent));
  agent.mutable_metadata()->set_generation(1);
  EXPECT_TRUE(MayTakeRequirement(agent));
  agent.mutable_metadata()->set_generation(2);
  EXPECT_FALSE(MayTakeRequirement(agent));
}

TEST(TemplatesTest, WhichTemplatesTakeARequirement) {
  struct Row {
    const char* name;
    Pod pod;
    bool takes;
  };
  const Row rows[] = {
      {"plain", MakePod(""), true},
      {"an architecture in the selector", MakePod("").NodeSelector(api::kArchLabel, "arm64"),
       false},
      {"an architecture in the only term", MakePod("").Requires(api::kArchLabel, "In", {"arm64"}),
       false},
      {"another term", MakePod("").Requires("pool", "In", {"a"}), true},
      {"opts out", MakePod("").Label(api::kExcludeLabel, ""), false},
      {"in kube-system", MakePod("").Namespace("kube-system"), false},
      {"in the operator's namespace", MakePod("").Namespace("operator-ns"), false},
      {"on the control plane", MakePod("").NodeSelector(api::kControlPlaneNodeLabel, ""), false},
  };
  for (const Row& row : rows) {
    Pod pod = PodOf(row.pod.metadata().namespace_(), TemplateOf(row.pod));
    EXPECT_EQ(TakesRequirement(pod, {"volcano"}, "operator-ns"), row.takes) << row.name;
  }
  Pod scheduled = MakePod("");
  scheduled.mutable_spec()->set_scheduler_name("volcano");
  EXPECT_FALSE(TakesRequirement(scheduled, {"volcano"}, "operator-ns"));
}

TEST(TemplatesTest, OnlyWhatDecidesIsTakenFromATemplate) {
  PodTemplateSpec pod_template =
      TemplateOf(MakePod("web").Image("r.io/app:1").NodeSelector("pool", "a").Label("app", "web"));
  kube::core::PodSpec& spec = *pod_template.mutable_spec();
  spec.set_scheduler_name("volcano");
  spec.mutable_os()->set_name("windows");
  spec.mutable_containers(0)->set_name(std::string(1'000, 'x'));
  spec.mutable_containers(0)->mutable_unknown_fields()->append(
      kube::EncodedField(7, std::string(1'000, 'x')));
  (*pod_template.mutable_metadata()->mutable_annotations())["notes"] = std::string(1'000, 'x');
  Pod pod = PodOf("ns", pod_template);
  EXPECT_EQ(pod.metadata().namespace_(), "ns");
  EXPECT_EQ(pod.metadata().labels().at("app"), "web");
  EXPECT_EQ(pod.spec().node_selector().at("pool"), "a");
  EXPECT_EQ(pod.spec().scheduler_name(), "volcano");
  EXPECT_EQ(pod.spec().os().name(), "windows");
  EXPECT_EQ(pod.spec().containers(0).image(), "r.io/app:1");
  EXPECT_LT(pod.ByteSizeLong(), 200u);
}

// The same decision: what the template gets is what its pods would get.
TEST(TemplatesTest, TheTemplateGetsTheRequirementOfItsPods) {
  const CommonPlatforms common(ArchitectureSet{"amd64", "arm64"});
  const Pod pods[] = {MakePod("web").Image("r.io/app:1"),
                      MakePod("web").Image("r.io/app:1").Requires("pool", "In", {"a"}),
                      MakePod("web").Image("r.io/app:1").Os("linux")};
  for (const Pod& pod : pods) {
    PodTemplateSpec pod_template = TemplateOf(pod);
    Requirement required = RequireInTemplate("ns", common, {}, pod_template);
    EXPECT_EQ(required.result, RequirementResult::kSet);
    EXPECT_EQ(required.architectures, (ArchitectureSet{"amd64", "arm64"}));
    EXPECT_EQ(pod_template.spec().affinity().SerializeAsString(), AffinityOfReleased(pod, common));
    EXPECT_TRUE(pod_template.metadata().labels().empty());
    // A second call has nothing to add, and neither has the release of a pod.
    Pod made = PodOf("ns", pod_template);
    EXPECT_FALSE(NeedsRequirement(made));
    std::string before = made.spec().SerializeAsString();
    ApplyRequirement(made, common);
    EXPECT_EQ(made.spec().SerializeAsString(), before);
  }
}

TEST(TemplatesTest, TheTolerationsAreThoseOfItsPods) {
  api::PodPlacementConfig off = api::MakeConfig("off").Tolerate(false);
  api::ArchitectureTolerations plugin{.enabled = true};
  CommonPlatforms common(ArchitectureSet{"arm64"});
  auto tolerations = [&](const TemplateTolerations& decided) {
    PodTemplateSpec pod_template = TemplateOf(MakePod("").Image("r.io/app:1"));
    EXPECT_EQ(RequireInTemplate("ns", common, decided, pod_template).result,
              RequirementResult::kSet);
    return pod_template.spec().tolerations_size();
  };
  EXPECT_EQ(tolerations({}), 0);
  EXPECT_EQ(tolerations({.of_cluster = &plugin}), 1);
  EXPECT_EQ(tolerations({.configs = {&off}, .of_cluster = &plugin}), 0);
}

TEST(TemplatesTest, WithoutACommonArchitectureItIsUnchanged) {
  for (const Pod& pod : {Pod(MakePod("").Image("r.io/app:1")),
                         Pod(MakePod("").Image("r.io/app:1").Requires("pool", "In", {"a"}))}) {
    PodTemplateSpec pod_template = TemplateOf(pod);
    std::string before = pod_template.SerializeAsString();
    EXPECT_EQ(RequireInTemplate("ns", CommonPlatforms(), {}, pod_template).result,
              RequirementResult::kNowhere);
    EXPECT_EQ(pod_template.SerializeAsString(), before);
  }
}

TEST(TemplatesTest, UnknownFieldsSurvive) {
  PodTemplateSpec pod_template = TemplateOf(MakePod("").Image("r.io/app:1"));
  std::string unknown = kube::EncodedField(999, "of a newer API server");
  ASSERT_TRUE(pod_template.mutable_spec()->MergeFromString(unknown));
  RequireInTemplate("ns", CommonPlatforms(ArchitectureSet{"arm64"}), {}, pod_template);
  EXPECT_THAT(pod_template.spec().SerializeAsString(), testing::HasSubstr(unknown));
}

}  // namespace
}  // namespace placement
