// SPDX-License-Identifier: Apache-2.0
// The model of the documents (sim/checker) and the decisions of the product (placement/) agree on
// random pods, configurations and images. Each is written without the other: a difference is a
// mistake of one of them, or a gap in the documents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "kube/testing/make_pod.h"
#include "placement/gate.h"
#include "placement/matching_configs.h"
#include "placement/platforms.h"
#include "placement/release.h"
#include "placement/requirement.h"
#include "scheduling-policies/pod_json.h"
#include "sim/checker/testing/run.h"

namespace sim::checker {
namespace {

using namespace std::chrono_literals;
using ProtoPod = kube::core::Pod;

constexpr unsigned kSeeds = 1500;
constexpr char kOtherGate[] = "kueue.x-k8s.io/admission";
const std::vector<std::string> kArchitectures = {"amd64", "arm64", "ppc64le", "s390x"};

Json ToJson(const ProtoPod& pod) {
  Json json = {
      {"metadata", {{"namespace", pod.metadata().namespace_()}, {"name", pod.metadata().name()}}},
      {"spec", policy::ToJson(pod.spec())},
      {"status", {{"phase", "Pending"}}}};
  for (const auto& [key, value] : pod.metadata().labels()) json["metadata"]["labels"][key] = value;
  for (const auto& [key, value] : pod.metadata().annotations())
    json["metadata"]["annotations"][key] = value;
  if (pod.spec().has_os()) json["spec"]["os"]["name"] = pod.spec().os().name();
  for (const kube::core::Container& container : pod.spec().containers())
    json["spec"]["containers"].push_back(
        {{"name", container.name()}, {"image", container.image()}});
  return json;
}

// One world with one pod, from its creation to its release.
class Scene {
 public:
  explicit Scene(unsigned seed) : random_(seed) {}

  void Play() {
    other_gate_ = OneIn(3);
    MakeImages();
    MakeConfigs();
    ProtoPod pod = MakePod();
    Create(pod);
    if (placement::HasGate(pod, api::kLocalGate) && OneIn(2)) ReleaseLocally(pod);
    bool failed = OneIn(5);
    if (failed) run_.facts().images.SetRegistry("r.io", Time::zero(), Registry::kFails);
    run_.Advance(2min);
    ReleaseFromCluster(pod, failed);
    if (placement::HasGate(pod, api::kClusterGate)) {
      RemoveOtherGate(pod);
      if (OneIn(2)) ChangeImages();
      run_.Advance(10min);
      ReleaseFromCluster(pod, failed);
    }
  }
  const TestRun& run() const { return run_; }
  // For the message of a failed expectation.
  std::string Describe() const {
    std::string text = "cluster: " + kube::DumpJson(api::SpecToJson(cluster_.spec)) + "\n";
    for (const api::PodPlacementConfig& config : configs_)
      text += config.metadata().name() + ": " + kube::DumpJson(api::SpecToJson(config.spec)) + "\n";
    return text + kube::PrettyJson(run_.Stored("", "pods", "shop", "web"));
  }

 private:
  bool OneIn(int n) { return random_() % static_cast<unsigned>(n) == 0; }
  template <typename T>
  const T& Any(const std::vector<T>& all) {
    return all[random_() % all.size()];
  }
  // Some of the architectures, perhaps none.
  std::vector<std::string> SomeArchitectures() {
    std::vector<std::string> some;
    for (const std::string& architecture : kArchitectures) {
      if (OneIn(2)) some.push_back(architecture);
    }
    return some;
  }

  void MakeImages() {
    for (int i = 0; i < 4; ++i) SetImage("r.io/i" + std::to_string(i));
  }
  void ChangeImages() { SetImage("r.io/i0"); }
  void SetImage(const std::string& reference) {
    Image image{.bundle = OneIn(8)};
    placement::ImagePlatforms platforms{.every = image.bundle};
    for (const std::string& architecture : kArchitectures) {
      if (OneIn(4)) continue;
      std::string os = OneIn(12) ? "windows" : "linux";
      image.platforms.push_back({os, architecture});
      platforms.platforms.push_back({.os = os, .architecture = architecture});
    }
    std::sort(platforms.platforms.begin(), platforms.platforms.end());
    run_.facts().images.SetPlatforms(reference, run_.now(), image);
    images_[reference] = std::make_shared<const placement::ImagePlatforms>(platforms);
  }

  Json AnyPreferences(int priority) {
    std::vector<std::pair<std::string, int>> platforms;
    for (const std::string& architecture : SomeArchitectures())
      platforms.emplace_back(architecture, static_cast<int>(1 + random_() % 100));
    if (platforms.empty()) platforms.emplace_back("arm64", 50);
    Json spec = Prefers(platforms, priority);
    if (OneIn(6)) spec["plugins"]["nodeAffinityScoring"]["enabled"] = false;
    if (OneIn(8)) spec["plugins"].erase("nodeAffinityScoring");
    if (OneIn(3)) {
      spec["plugins"]["architectureTolerations"]["enabled"] = !OneIn(4);
      if (OneIn(2))
        spec["plugins"]["architectureTolerations"]["effects"] =
            Json::array({"NoExecute", "NoSchedule"});
    }
    return spec;
  }

  void MakeConfigs() {
    Json cluster = AnyPreferences(0);
    cluster.erase("priority");
    if (OneIn(2)) cluster["plugins"].erase("nodeAffinityScoring");
    if (OneIn(2) && cluster["plugins"].contains("nodeAffinityScoring"))
      cluster["plugins"]["nodeAffinityScoring"]["precedence"] = "Namespace";
    if (OneIn(2)) cluster["fallbackArchitecture"] = Any(kArchitectures);
    run_.SetCluster(cluster);
    cluster_ = api::ClusterPodPlacementConfig::FromJson(
                   {{"metadata", {{"name", "cluster"}}}, {"spec", cluster}})
                   .value();
    EXPECT_TRUE(cluster_.problems.empty()) << kube::DumpJson(cluster);
    for (int i = 0, count = static_cast<int>(random_() % 4); i < count; ++i) {
      Json spec = AnyPreferences(OneIn(4) ? 7 : i);
      if (OneIn(3)) spec["labelSelector"]["matchLabels"]["app"] = OneIn(2) ? "web" : "mail";
      std::string name = "c" + std::to_string(i);
      run_.SetConfig(name, spec);
      configs_.push_back(
          api::PodPlacementConfig::FromJson(
              run_.Stored(std::string(api::kGroup), "podplacementconfigs", "shop", name))
              .value());
      EXPECT_TRUE(configs_.back().problems.empty()) << kube::DumpJson(spec);
    }
    run_.Advance(2min);
  }

  ProtoPod MakePod() {
    kube::MakePod make("web");
    make.Namespace("shop");
    for (int i = 0, count = static_cast<int>(random_() % 3); i < count; ++i)
      make.Image("r.io/i" + std::to_string(random_() % 4));
    if (OneIn(2)) make.Label("app", "web");
    if (OneIn(8)) make.NodeSelector("kubernetes.io/arch", "amd64");
    if (OneIn(8)) make.NodeSelector("kubernetes.io/os", OneIn(2) ? "linux" : "windows");
    if (OneIn(10)) make.Os(OneIn(2) ? "linux" : "windows");
    for (int i = 0, count = OneIn(3) ? static_cast<int>(random_() % 3) : 0; i < count; ++i) {
      if (OneIn(3)) {
        make.Requires("kubernetes.io/arch", "In", {"arm64"});
      } else {
        make.Requires("zone", "In", {"a", "b"});
      }
    }
    if (OneIn(5)) make.Prefers(9, "disk", {"ssd"});
    if (OneIn(6)) make.Prefers(3, "kubernetes.io/arch", {Any(kArchitectures)});
    ProtoPod pod = make;
    if (OneIn(4)) {
      auto& toleration = *pod.mutable_spec()->add_tolerations();
      toleration.set_key("kubernetes.io/arch");
      if (OneIn(2)) toleration.set_value("arm64");
      toleration.set_operator_(toleration.has_value() ? "Equal" : "Exists");
      if (OneIn(2)) toleration.set_effect("NoSchedule");
    }
    return pod;
  }

  void AddGate(ProtoPod& pod, std::string_view gate) {
    pod.mutable_spec()->add_scheduling_gates()->set_name(std::string(gate));
    (*pod.mutable_metadata()->mutable_labels())[std::string(gate)] = "gated";
  }

  // As admission leaves it.
  void Create(ProtoPod& pod) {
    if (other_gate_) pod.mutable_spec()->add_scheduling_gates()->set_name(kOtherGate);
    bool prefers = false;
    for (const placement::MatchingConfig& matching : placement::ConfigsFor(pod, configs_))
      prefers |= !matching.config->Preferences().empty();
    AddGate(pod, api::kClusterGate);
    // The shard's webhook may not have answered.
    if (prefers && !OneIn(4)) AddGate(pod, api::kLocalGate);
    auto& labels = *pod.mutable_metadata()->mutable_labels();
    labels[std::string(api::kNodeAffinityLabel)] = "not-set";
    labels[std::string(api::kPreferredNodeAffinityLabel)] = "not-set";
    run_.WritePod(kUser, ToJson(pod));
  }

  void ReleaseLocally(ProtoPod& pod) {
    placement::ReleaseLocal(pod, placement::ConfigsFor(pod, configs_));
    run_.WritePod(kShardOfShop, ToJson(pod));
    shard_done_ = true;
  }

  // As the cluster controller does it: cluster-controller/pod_reconciler.cc.
  void ReleaseFromCluster(ProtoPod& pod, bool failed) {
    placement::ClusterDecision decision;
    decision.take_over_shard = placement::HasGate(pod, api::kLocalGate);
    decision.await_other_gates = true;
    bool by_annotation =
        pod.metadata().annotations().contains(std::string(api::kLocalTolerationsAnnotation));
    if (!shard_done_ || by_annotation) decision.configs = placement::ConfigsFor(pod, configs_);
    decision.cluster_platforms = cluster_.Preferences();
    decision.namespace_takes_precedence = cluster_.NamespaceTakesPrecedence();
    decision.cluster_tolerations = cluster_.Tolerations();
    decision.fallback_architecture = cluster_.spec.fallback_architecture;
    if (placement::NeedsInspection(pod)) {
      if (failed && pod.spec().containers_size() > 0) {
        decision.inspection_error = "503";
        decision.inspection_tries = 5;
      } else {
        std::vector<placement::SharedPlatforms> images;
        for (const kube::core::Container& container : pod.spec().containers())
          images.push_back(images_.at(container.image()));
        decision.platforms = placement::Common(images);
      }
    }
    bool waits = placement::HasGate(pod, api::kClusterGate) &&
                 !placement::HasGate(pod, api::kLocalGate) && !placement::OtherGates(pod).empty() &&
                 placement::IsDecided(pod, 5);
    if (waits) return;
    placement::Release release = placement::ReleaseCluster(pod, decision);
    if (release.released) run_.WritePod(kController, ToJson(pod));
    shard_done_ = shard_done_ || decision.take_over_shard;
  }

  void RemoveOtherGate(ProtoPod& pod) {
    auto& gates = *pod.mutable_spec()->mutable_scheduling_gates();
    for (int i = gates.size() - 1; i >= 0; --i) {
      if (gates[i].name() == kOtherGate) gates.erase(gates.begin() + i);
    }
    run_.WritePod(kUser, ToJson(pod));
  }

  std::mt19937 random_;
  TestRun run_;
  std::map<std::string, placement::SharedPlatforms> images_;
  api::ClusterPodPlacementConfig cluster_;
  std::vector<api::PodPlacementConfig> configs_;
  bool other_gate_ = false;
  bool shard_done_ = false;
};

TEST(Decisions, OfTheProductAreThoseOfTheDocuments) {
  constexpr int kShown = 5;
  int different = 0;
  size_t judged = 0, not_judged = 0;
  for (unsigned seed = 0; seed < kSeeds && different < kShown; ++seed) {
    Scene scene(seed);
    scene.Play();
    EXPECT_THAT(scene.run().Found(), testing::IsEmpty())
        << "seed " << seed << "\n"
        << scene.run().Described() << scene.Describe();
    if (!scene.run().Found().empty()) ++different;
    judged += scene.run().judged().judged;
    for (const auto& [why, count] : scene.run().judged().not_judged) not_judged += count;
  }
  EXPECT_GT(judged, kSeeds);
  EXPECT_LT(not_judged, judged / 5);
}

}  // namespace
}  // namespace sim::checker
