// SPDX-License-Identifier: Apache-2.0
#include "placement/templates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "api/templates.h"
#include "api/testing/make_config.h"
#include "kube/testing/encoded_field.h"
#include "kube/testing/make_pod.h"
#include "placement/daemon_nodes.h"
#include "placement/ignored.h"
#include "placement/images.h"

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

// An operator would restore the template, and all pods would be replaced twice.
TEST(TemplatesTest, ADaemonSetThatAControllerManagesIsNotChanged) {
  DaemonSet agent;
  agent.mutable_metadata()->set_generation(1);
  kube::meta::OwnerReference& owner = *agent.mutable_metadata()->add_owner_references();
  owner.set_kind("ClusterPolicy");
  EXPECT_TRUE(MayTakeRequirement(agent));
  owner.set_controller(true);
  EXPECT_FALSE(MayTakeRequirement(agent));
}

TEST(TemplatesTest, TheRequirementIsRemovedAsItWasSet) {
  struct Row {
    const char* name;
    Pod pod;
    CommonPlatforms common;
  };
  const ArchitectureSet both = {"amd64", "arm64"};
  CommonPlatforms with_level(both);
  with_level.amd64_level = 3;
  const Row rows[] = {
      {"no terms", MakePod("").Image("r.io/app:1"), both},
      {"a term", MakePod("").Image("r.io/app:1").Requires("pool", "In", {"a"}), both},
      {"another architecture is of the author",
       MakePod("")
           .Image("r.io/app:1")
           .Requires("pool", "In", {"a"})
           .Requires(api::kArchLabel, "In", {"s390x"}),
       both},
      {"a level in its own term", MakePod("").Image("r.io/app:1"), with_level},
  };
  for (const Row& row : rows) {
    DaemonSet agent;
    PodTemplateSpec pod_template = TemplateOf(row.pod);
    Requirement required = RequireInTemplate("ns", row.common, {}, pod_template);
    (*agent.mutable_metadata()
          ->mutable_annotations())[std::string(api::kTemplateArchitecturesAnnotation)] =
        Join(required.architectures);
    EXPECT_EQ(RequiredInTemplate(agent.metadata()), required.architectures) << row.name;
    kube::core::PodSpec spec = NodeConstraintsOf(pod_template.spec());
    RemoveRequirement(required.architectures, spec);
    EXPECT_EQ(spec.affinity().node_affinity().SerializeAsString(),
              row.pod.spec().affinity().node_affinity().SerializeAsString())
        << row.name;
  }
}

TEST(TemplatesTest, OnlyNamesOfArchitecturesAreReadFromTheAnnotation) {
  DaemonSet agent;
  EXPECT_TRUE(RequiredInTemplate(agent.metadata()).empty());
  std::string& written =
      (*agent.mutable_metadata()
            ->mutable_annotations())[std::string(api::kTemplateArchitecturesAnnotation)];
  written = "arm64,  , %, amd64";
  EXPECT_EQ(RequiredInTemplate(agent.metadata()), (ArchitectureSet{"amd64", "arm64"}));
  written.clear();
  for (size_t i = 0; i < kMaxArchitectures + 1; ++i) written += "a" + std::to_string(i) + ", ";
  EXPECT_EQ(RequiredInTemplate(agent.metadata()).size(), kMaxArchitectures);
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

// The inspection of a template sees what that of its pods would see: a field that is not copied
// makes a wrong requirement.
TEST(TemplatesTest, WhatIsTakenFromATemplateDecidesAsAPodOfIt) {
  struct Row {
    const char* name;
    Pod pod;
  };
  const Pod plain = MakePod("web").Image("r.io/app:1");
  Pod volumes = plain;
  for (const char* policy : {"", "Always", "Never", "IfNotPresent"}) {
    auto& image = *volumes.mutable_spec()->add_volumes()->mutable_source()->mutable_image();
    image.set_reference(std::string("r.io/volume:1") + policy);
    image.set_pull_policy(policy);
  }
  Pod scheduler = plain;
  scheduler.mutable_spec()->set_scheduler_name("volcano");
  Pod tolerations = plain;
  tolerations.mutable_spec()->add_tolerations()->set_key(std::string(api::kArchLabel));
  const Row rows[] = {
      {"containers with each pull policy", MakePod("web")
                                               .Image("r.io/always:1", "Always")
                                               .Image("r.io/never:1", "Never")
                                               .Image("r.io/present:1", "IfNotPresent")},
      {"init containers with each pull policy", MakePod("web")
                                                    .Image("r.io/app:1")
                                                    .InitImage("r.io/always:1", "Always")
                                                    .InitImage("r.io/never:1", "Never")
                                                    .InitImage("r.io/init:1")},
      {"image volumes", volumes},
      {"pull secrets", MakePod("web").Image("r.io/app:1").PullSecret("a").PullSecret("b")},
      {"a node", MakePod("web").Image("r.io/app:1").Node("n")},
      {"a scheduler", scheduler},
      {"windows", MakePod("web").Image("r.io/app:1").Os("windows")},
      {"windows by selector",
       MakePod("web").Image("r.io/app:1").NodeSelector(api::kOsLabel, "windows")},
      {"terms", MakePod("web")
                    .Image("r.io/app:1")
                    .Requires("pool", "In", {"a"})
                    .Requires(api::kArchLabel, "In", {"s390x"})},
      {"tolerations", tolerations},
      {"an opt-out", MakePod("web").Image("r.io/app:1").Label(api::kExcludeLabel, "")},
      {"the control plane",
       MakePod("web").Image("r.io/app:1").NodeSelector(api::kControlPlaneNodeLabel, "")},
      {"an operand", MakePod("web").Image("r.io/app:1").Label(api::kOperandLabel, "")},
      {"kube-system", MakePod("web").Namespace("kube-system").Image("r.io/app:1")},
  };
  CommonPlatforms common(ArchitectureSet{"amd64", "arm64"});
  common.by_os["windows"] = {"amd64"};
  common.windows_builds = {"10.0.17763"};
  common.amd64_level = 3;
  for (const Row& row : rows) {
    const Pod& pod = row.pod;
    const Pod taken = PodOf(pod.metadata().namespace_(), TemplateOf(pod));
    EXPECT_EQ(ImagesOf(taken), ImagesOf(pod)) << row.name;
    auto secrets = [](const Pod& of) {
      std::vector<std::string> names;
      for (const auto& secret : of.spec().image_pull_secrets()) names.push_back(secret.name());
      return names;
    };
    EXPECT_EQ(secrets(taken), secrets(pod)) << row.name;
    EXPECT_EQ(IsIgnored(taken, "operator-ns"), IsIgnored(pod, "operator-ns")) << row.name;
    EXPECT_EQ(OptsOut(taken, {"volcano"}), OptsOut(pod, {"volcano"})) << row.name;
    EXPECT_EQ(NeedsRequirement(taken), NeedsRequirement(pod)) << row.name;
    EXPECT_EQ(taken.spec().tolerations_size(), pod.spec().tolerations_size()) << row.name;
    EXPECT_EQ(AffinityOfReleased(taken, common), AffinityOfReleased(pod, common)) << row.name;
  }
}

// The same decision: what the template gets is what its pods would get.
TEST(TemplatesTest, TheTemplateGetsTheRequirementOfItsPods) {
  CommonPlatforms platforms(ArchitectureSet{"amd64", "arm64"});
  platforms.by_os["windows"] = {"amd64"};
  platforms.windows_builds = {"10.0.17763"};
  CommonPlatforms with_level = platforms;
  with_level.amd64_level = 3;
  struct Row {
    const char* name;
    Pod pod;
    CommonPlatforms common;
    ArchitectureSet required;
  };
  const ArchitectureSet both = {"amd64", "arm64"};
  const Row rows[] = {
      {"plain", MakePod("web").Image("r.io/app:1"), platforms, both},
      {"a term", MakePod("web").Image("r.io/app:1").Requires("pool", "In", {"a"}), platforms, both},
      {"linux", MakePod("web").Image("r.io/app:1").Os("linux"), platforms, both},
      {"windows, and its builds",
       MakePod("web").Image("r.io/app:1").Os("windows"),
       platforms,
       {"amd64"}},
      {"windows by a term",
       MakePod("web").Image("r.io/app:1").Requires(api::kOsLabel, "In", {"windows"}),
       platforms,
       {"amd64"}},
      {"a level", MakePod("web").Image("r.io/app:1"), with_level, both},
      {"a level beside an own term",
       MakePod("web").Image("r.io/app:1").Requires("pool", "In", {"a"}),
       with_level,
       {"arm64"}},
      {"one of several terms has an architecture",
       MakePod("web")
           .Image("r.io/app:1")
           .Requires("pool", "In", {"a"})
           .Requires(api::kArchLabel, "In", {"s390x"}),
       platforms, both},
  };
  for (const auto& [name, pod, common, architectures] : rows) {
    SCOPED_TRACE(name);
    PodTemplateSpec pod_template = TemplateOf(pod);
    Requirement required = RequireInTemplate("ns", common, {}, pod_template);
    EXPECT_EQ(required.result, RequirementResult::kSet);
    EXPECT_EQ(required.architectures, architectures);
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
