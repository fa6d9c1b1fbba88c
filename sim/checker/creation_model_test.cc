// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/creation_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/known_images.h"
#include "api/names.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

const Json kPlacing = {{"knownImages", "PlaceAtCreation"}};

class CreationModel : public testing::Test {
 protected:
  CreationModel() { run_.SetCluster(kPlacing); }

  // What a pod with kImage is made of, with these architectures.
  static Json AtCreation(std::vector<std::string> architectures) {
    Json pod = Placed(Gated(Pod("web"), api::kClusterGate), std::move(architectures));
    Json& labels = pod["metadata"]["labels"];
    labels[std::string(api::kPlacedAtCreationLabel)] = "";
    labels[std::string(api::kClusterGateLabel)] = api::kNotSet;
    return pod;
  }
  std::vector<std::string> Create(Json stored) {
    stored["spec"].erase("schedulingGates");
    run_.Write(kUser, "", "pods", std::move(stored), "", Pod("web"));
    return run_.Found();
  }

  TestRun run_;
};

TEST_F(CreationModel, AsARelease) {
  EXPECT_THAT(Create(AtCreation({"amd64", "arm64"})), IsEmpty()) << run_.Described();
  EXPECT_EQ(run_.judged().judged, 1u);
}

TEST_F(CreationModel, AnotherArchitecture) {
  EXPECT_THAT(Create(AtCreation({"s390x"})), ElementsAre("I4")) << run_.Described();
}

TEST_F(CreationModel, WhatTheImageWasTenMinutesBefore) {
  run_.facts().images.SetPlatforms(kImage, run_.now(), Image{.platforms = {{"linux", "s390x"}}});
  run_.Advance(600s);
  EXPECT_THAT(Create(AtCreation({"amd64", "arm64"})), IsEmpty()) << run_.Described();
}

TEST_F(CreationModel, WhatTheImageWasLongBefore) {
  run_.facts().images.SetPlatforms(kImage, run_.now(), Image{.platforms = {{"linux", "s390x"}}});
  run_.Advance(700s);
  EXPECT_THAT(Create(AtCreation({"amd64", "arm64"})), ElementsAre("I4")) << run_.Described();
}

TEST_F(CreationModel, WithoutThePreferenceOfTheCluster) {
  Json spec = Prefers({{"arm64", 10}});
  spec["knownImages"] = "PlaceAtCreation";
  run_.SetCluster(spec);
  run_.Advance(1h);
  EXPECT_THAT(Create(AtCreation({"amd64", "arm64"})), ElementsAre("I4")) << run_.Described();
}

TEST_F(CreationModel, ThoughNoConfigurationSaysSo) {
  run_.SetCluster(Json::object());
  run_.Advance(1h);
  EXPECT_THAT(Create(AtCreation({"amd64", "arm64"})), ElementsAre("I4")) << run_.Described();
}

TEST_F(CreationModel, WhereAConfigurationMayChangeThePod) {
  run_.SetConfig("arm", Prefers({{"arm64", 75}}));
  run_.Advance(1h);
  run_.facts().calm_since = 0s;
  EXPECT_THAT(Create(AtCreation({"amd64", "arm64"})), ElementsAre("gating", "gating"))
      << run_.Described();
}

}  // namespace
}  // namespace sim::checker
