// SPDX-License-Identifier: Apache-2.0
#include "plugin/read/read_pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/names.h"
#include "api/testing/make_config.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_clock.h"
#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/run.h"
#include "plugin/pod/why_pod.h"

namespace plugin {
namespace {

using kube::MakePod;
using kube::core::Event;
using testing::HasSubstr;

class ReadPodTest : public testing::Test {
 protected:
  ReadPodTest() {
    kube::Json ns = {{"metadata", {{"name", "ns"}}}};
    api_.CreateJson(kube::ResourceOf<kube::core::Namespace>::value, ns);
    api_.CreateJson(kube::ResourceOf<api::ClusterPodPlacementConfig>::value,
                    api::MakeClusterConfig().Build());
  }
  void CreatePod(const MakePod& pod) { pod_ = api_.Create<kube::core::Pod>(pod); }
  void CreateEvent(const std::string& name, std::string_view reason, const std::string& message) {
    Event event;
    event.mutable_metadata()->set_namespace_("ns");
    event.mutable_metadata()->set_name(name);
    event.mutable_involved_object()->set_uid(pod_.metadata().uid());
    event.mutable_involved_object()->set_name("web");
    event.mutable_involved_object()->set_kind("Pod");
    event.mutable_involved_object()->set_namespace_("ns");
    event.set_reason(std::string(reason));
    event.set_message(message);
    event.mutable_source()->set_component(std::string(api::kEventComponent));
    event.set_count(2);
    event.mutable_last_timestamp()->set_seconds(
        std::chrono::floor<std::chrono::seconds>(clock_.WallNow()).time_since_epoch().count());
    api_.Create(event);
  }
  PodEvidence Read() {
    auto evidence = kube::Run(io_, ReadPod(api_, clock_, {"ns", "web"}));
    EXPECT_THAT(evidence, kube::IsOk());
    return evidence ? std::move(*evidence) : PodEvidence();
  }

  boost::asio::io_context io_{1};
  kube::FakeClock clock_;
  kube::FakeApiServer api_{clock_};
  kube::core::Pod pod_;
};

TEST_F(ReadPodTest, TellsWhatHasHappened) {
  CreatePod(MakePod("web")
                .Gate(api::kClusterGate)
                .Label(api::kClusterGateLabel, api::kGated)
                .Label(api::kInspectErrorLabel, "")
                .Annotation(api::kInspectErrorAnnotation, "registry r.io: 401 Unauthorized"));
  clock_.Advance(std::chrono::seconds(30));
  CreateEvent("first", api::kReasonInspectionError, "Could not inspect:\n401");
  clock_.Advance(std::chrono::seconds(12));
  const std::string text = WhyPod(Read());
  EXPECT_THAT(text, HasSubstr("ns/web has waited for 42 s for the gate "
                              "multiarch.openshift.io/scheduling-gate\n"));
  EXPECT_THAT(text, HasSubstr("12 s ago  ArchAwareInspectionError: Could not inspect: 401 "
                              "(2 times)\n"));
  EXPECT_LT(text.find("created"), text.find("ArchAwareInspectionError"));
  EXPECT_THAT(text, HasSubstr("why       the registry wants other credentials"));
  EXPECT_THAT(text, HasSubstr("next      check the Secrets"));

  const kube::Json json = WhyPodAsJson(Read());
  EXPECT_EQ(json["cause"]["name"], "RegistryRefusesCredentials");
  EXPECT_EQ(json["story"].size(), 2u);
}

TEST_F(ReadPodTest, NothingControlsTheTerminal) {
  CreatePod(MakePod("web").Gate("x.io/\x1b[2Jgate").Image("r.io/\x7f:1"));
  CreateEvent("e", "Failed\x1b[31m", "a\rb");
  const std::string text = WhyPod(Read());
  EXPECT_EQ(text.find_first_of("\x1b\x7f\r"), std::string::npos) << text;
}

// As the scheduler writes it.
TEST_F(ReadPodTest, AnEventWithAnEventTimeAlone) {
  CreatePod(MakePod("web"));
  clock_.Advance(std::chrono::seconds(30));
  Event event;
  event.mutable_metadata()->set_namespace_("ns");
  event.mutable_metadata()->set_name("bound");
  event.mutable_involved_object()->set_uid(pod_.metadata().uid());
  event.set_reason("Scheduled");
  event.mutable_last_timestamp();
  event.mutable_event_time()->set_seconds(
      std::chrono::floor<std::chrono::seconds>(clock_.WallNow()).time_since_epoch().count());
  api_.Create(event);
  EXPECT_THAT(WhyPod(Read()), HasSubstr("\n   0 s ago  Scheduled: "));
}

TEST_F(ReadPodTest, WhatMayNotBeReadIsNamed) {
  CreatePod(MakePod("web").Label(api::kClusterGateLabel, api::kRemoved));
  const kube::Error denied = kube::Error::PermissionDenied("nodes is forbidden: User bob");
  api_.FailNext(denied, "/nodes", 9);
  api_.FailNext(denied, "/events", 9);
  const std::string text = WhyPod(Read());
  EXPECT_THAT(text, HasSubstr("not read  nodes: nodes is forbidden: User bob\n"));
  EXPECT_THAT(text, HasSubstr("not read  events: "));
  EXPECT_THAT(text, testing::Not(HasSubstr(" fit\n")));
}

TEST_F(ReadPodTest, AMissingPodIsAnError) {
  EXPECT_THAT(kube::Run(io_, ReadPod(api_, clock_, {"ns", "web"})),
              kube::FailsWith(kube::Code::kNotFound));
}

}  // namespace
}  // namespace plugin
