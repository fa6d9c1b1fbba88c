// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/names.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "kube/types/kinds.h"
#include "plugin/workload/why_workload.h"

namespace plugin {
namespace {

using kube::Json;
using kube::MakePod;
using kube::core::Pod;
using testing::HasSubstr;
using testing::Not;

TEST(WorkloadKindTest, HasTheNamesOfKubectl) {
  for (const char* word : {"deployment", "deployments", "deploy"})
    EXPECT_EQ(FindWorkloadKind(word)->kind, "Deployment") << word;
  EXPECT_EQ(FindWorkloadKind("sts")->kind, "StatefulSet");
  EXPECT_EQ(FindWorkloadKind("job")->kind, "Job");
  for (const char* word : {"", "pod", "cronjob"}) EXPECT_FALSE(FindWorkloadKind(word)) << word;
}

class ReadWorkloadTest : public testing::Test {
 protected:
  ReadWorkloadTest() {
    Json deployment = kube::MustParseJson(R"({"metadata": {"name": "web", "namespace": "ns"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}}})");
    Json stored = api_.CreateJson(kube::kDeployments, deployment);
    Json set = kube::MustParseJson(R"({"metadata": {"name": "web-1", "namespace": "ns",
        "labels": {"app": "web"}}})");
    Json owner = {{"kind", "Deployment"},
                  {"name", "web"},
                  {"apiVersion", "apps/v1"},
                  {"controller", true},
                  {"uid", stored["metadata"]["uid"]}};
    set["metadata"]["ownerReferences"] = Json::array({std::move(owner)});
    set_ = kube::StringAt(api_.CreateJson(kube::kReplicaSets, set), "metadata.uid");
  }
  void CreatePod(const std::string& name, const std::string& owner, std::string_view phase) {
    Pod pod = MakePod(name)
                  .Label("app", "web")
                  .Label(api::kNoSupportedArchLabel, "")
                  .Label(api::kClusterGateLabel, api::kRemoved)
                  .Owner("apps/v1", "ReplicaSet", "web-1")
                  .Phase(phase);
    pod.mutable_metadata()->mutable_owner_references(0)->set_uid(owner);
    api_.Create<Pod>(pod);
  }
  WorkloadEvidence Read() {
    auto evidence = kube::Run(io_, ReadWorkload(api_, clock_, kube::kDeployments, {"ns", "web"}));
    EXPECT_THAT(evidence, kube::IsOk());
    return evidence ? std::move(*evidence) : WorkloadEvidence();
  }

  boost::asio::io_context io_{1};
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  std::string set_;
};

TEST_F(ReadWorkloadTest, GroupsItsPodsByWhatKeepsThem) {
  CreatePod("web-1-a", set_, "Pending");
  CreatePod("web-1-b", set_, "Pending");
  CreatePod("of-another-one", "other", "Pending");
  kube::core::Event failed;
  failed.mutable_metadata()->set_namespace_("ns");
  failed.mutable_metadata()->set_name("failed");
  failed.mutable_involved_object()->set_uid(set_);
  failed.mutable_involved_object()->set_namespace_("ns");
  failed.set_reason("FailedCreate");
  failed.set_message("pods is forbidden: exceeded quota: small");
  api_.Create(failed);

  const WorkloadEvidence evidence = Read();
  const std::string text = WhyWorkload(evidence);
  EXPECT_THAT(text, HasSubstr("Deployment ns/web has 2 of 3 pods, of which 0 run\n"));
  EXPECT_THAT(text, HasSubstr("2 pods    web-1-a, web-1-b\nwhy       the images have no"));
  EXPECT_THAT(text, HasSubstr("missing   pods\nwhy       a quota of the namespace has no room"));
  EXPECT_THAT(text, Not(HasSubstr("of-another-one")));
  const Json json = WhyWorkloadAsJson(evidence);
  EXPECT_EQ(json["creation"]["name"], "QuotaExceeded");
  EXPECT_EQ(json["groups"][0]["cause"]["name"], "NoCommonArchitecture");
}

TEST_F(ReadWorkloadTest, EventsThatMayNotBeReadAreNamed) {
  CreatePod("web-1-a", set_, "Pending");
  api_.FailNext(kube::Error::PermissionDenied("events is forbidden"), "/events", 99);
  EXPECT_THAT(WhyWorkload(Read()), HasSubstr("not read  events: events is forbidden\n"));
}

}  // namespace
}  // namespace plugin
