// SPDX-License-Identifier: Apache-2.0
#include <glog/logging.h>

#include <algorithm>
#include <optional>

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "api/validation.h"
#include "cluster-controller/nodes/node_image_index.h"
#include "fuzz/base/bytes.h"
#include "fuzz/base/patched.h"
#include "fuzz/base/user_settings.h"
#include "fuzz/fuzz_targets.h"
#include "kube/client/frame_reader.h"
#include "kube/codec/codec.h"
#include "kube/codec/fields.h"
#include "kube/codec/yaml.h"
#include "operator/node_taints/architecture_taint.h"
#include "placement/gate.h"
#include "placement/gating.h"
#include "placement/ignored.h"
#include "placement/local_configs.h"
#include "placement/node_offers.h"
#include "placement/release.h"
#include "watches/gated_pods.h"
#include "webhook/gate_patch.h"
#include "webhook/pod_review.h"
#include "webhook/probe.h"

namespace fuzz {
namespace {

using kube::Json;
using kube::Result;
using kube::core::Pod;

bool HasGate(const Json& pod, std::string_view gate) {
  const Json* gates = kube::Find(pod, "spec.schedulingGates");
  return gates != nullptr && std::any_of(gates->begin(), gates->end(), [&](const Json& one) {
           return kube::StringAt(one, "name") == gate;
         });
}

void FuzzAdmissionReview(const std::string& input) {
  static auto& reader = *new webhook::PodReviewReader;
  (void)reader.Read(input);
  int status = webhook::AnswerProbe({"POST", "/probe", input}, "openshift").status;
  CHECK(status == 200 || status == 400 || status == 413);
  // The API server does not send JSON with duplicate keys.
  Result<Json> json = kube::ParseJson(input);
  if (!json) return;
  std::string text = json->dump(-1, ' ', false, Json::error_handler_t::replace);
  Result<webhook::PodReview> review = reader.Read(text);
  if (!review || !review->creates_pod || !review->readable) return;
  const Json* pod = kube::Find(*json, "request.object");
  CHECK(pod != nullptr);

  constexpr char kOperatorNamespace[] = "openshift-multiarch-tuning-operator";
  using placement::GateDecision;
  for (bool preferences : {false, true}) {
    GateDecision cluster =
        placement::ShouldGateForCluster(review->pod, kOperatorNamespace, preferences);
    Json gated = Patched(*pod, webhook::ClusterPatch(*review, cluster));
    CHECK_EQ(HasGate(gated, api::kClusterGate),
             cluster == GateDecision::kGate || HasGate(*pod, api::kClusterGate));
  }
  GateDecision local =
      placement::ShouldGateLocally(review->pod, review->pod.ns, kOperatorNamespace);
  Json gated = Patched(*pod, webhook::LocalPatch(*review, local, "only"));
  CHECK_EQ(HasGate(gated, api::kLocalGate),
           local == GateDecision::kGate || HasGate(*pod, api::kLocalGate));
}

// Whether the fields that packing reads have their wire types. Protobuf keeps others as unknown
// fields, which the API server does not send.
bool IsWellTyped(std::string_view pod) {
  auto is_bytes = [](std::string_view field) { return (field[0] & 7) == 2; };
  kube::FieldReader fields(pod);
  while (fields.Next()) {
    if (fields.number() <= Pod::kStatusFieldNumber && !is_bytes(fields.whole())) return false;
    if (fields.number() != Pod::kMetadataFieldNumber) continue;
    kube::FieldReader metadata(fields.bytes());
    while (metadata.Next()) {
      bool managed = metadata.number() == kube::meta::ObjectMeta::kManagedFieldsFieldNumber;
      if (managed && !is_bytes(metadata.whole())) return false;
    }
  }
  return true;
}

// A protobuf watch frame, and its pod as packed by the informer of gated pods.
void FuzzWatchEvent(const std::string& input) {
  static const auto& pack =
      *new auto(watches::GatedPods("", {api::kClusterGate, api::kLocalGate}).pack);
  Result<kube::RawWatchEvent> event = kube::DecodeProtobufFrame(input);
  if (!event) return;
  Result<std::optional<std::string>> packed = pack(event->object);
  Result<Pod> pod = kube::DecodeBare<Pod>(event->object);
  if (!pod || !packed || !*packed || !IsWellTyped(event->object)) return;
  Result<Pod> unpacked = kube::DecodeBare<Pod>(**packed);
  CHECK(unpacked) << unpacked.error();
  pod->clear_status();
  pod->mutable_metadata()->clear_managed_fields();
  unpacked->mutable_metadata();
  CHECK(Bytes(*unpacked) == Bytes(*pod));
}

// The frames do not depend on the chunks of the input.
void FuzzFrames(const std::string& input) {
  if (input.size() < 2) return;
  constexpr size_t kMaxFrame = 1024;
  auto format = input[0] % 2 == 0 ? kube::FrameReader::Format::kLines
                                  : kube::FrameReader::Format::kLengthPrefixed;
  auto read = [&](size_t step) {
    std::vector<std::string> frames;
    kube::FrameReader reader(format, kMaxFrame);
    for (size_t at = 1; at < input.size(); at += step) {
      reader.Append(std::string_view(input).substr(at, step));
      while (true) {
        Result<std::optional<std::string>> frame = reader.Next();
        if (!frame) return frames;
        if (!*frame) break;
        CHECK_LE((*frame)->size(), kMaxFrame);
        frames.push_back(std::move(**frame));
      }
    }
    return frames;
  };
  CHECK(read(input.size()) == read(1 + static_cast<unsigned char>(input[1])));
}

void FuzzYaml(const std::string& input) {
  Result<std::vector<Json>> documents = kube::ParseYamlDocuments(input);
  if (!documents) return;
  for (const Json& document : *documents)
    (void)document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// A round trip of the written form changes nothing.
template <class Config>
void CheckConfig(const Json& json) {
  Result<Config> config = Config::FromJson(json);
  if (!config) return;
  Json written = config->ToJson();
  Result<Config> again = Config::FromJson(written);
  CHECK(again) << again.error();
  CHECK(again->ToJson() == written) << written;
  if constexpr (std::is_same_v<Config, api::PodPlacementConfig>) {
    (void)api::ValidateCreate(*config, {}, true);
  } else {
    (void)api::ValidateCreate(*config);
  }
}

void FuzzConfig(const std::string& input) {
  Result<Json> json = kube::ParseJson(input);
  if (!json) return;
  CheckConfig<api::PodPlacementConfig>(*json);
  CheckConfig<api::ClusterPodPlacementConfig>(*json);
}

template <class Decide>
void CheckRelease(Pod pod, std::string_view gate, Decide decide) {
  Pod before = pod;
  if (!decide(pod).released) {
    CHECK(Bytes(pod) == Bytes(before));
    return;
  }
  CHECK(!placement::HasGate(pod, gate));
  CHECK(!decide(pod).released);
  // The pod's own tolerations come first.
  int own = before.spec().tolerations_size();
  int added = pod.spec().tolerations_size() - own;
  CHECK(added >= 0 && added <= 12);
  if (added > 0) pod.mutable_spec()->mutable_tolerations()->DeleteSubrange(own, added);
  CHECK(KeepsUserSettings(std::move(before), std::move(pod)));
}

// A pod with gates of other controllers: all but the tolerations, and the rest with its last gate.
void CheckAwaiting(const Pod& pod, placement::ClusterDecision decision) {
  Pod decided = pod;
  decision.await_other_gates = true;
  if (!placement::ReleaseCluster(decided, decision).awaits_other_gates) return;
  CHECK(placement::HasGate(decided, api::kClusterGate));
  CHECK_EQ(decided.spec().tolerations_size(), pod.spec().tolerations_size());
  CHECK(KeepsUserSettings(pod, decided));
  for (const std::string& gate : placement::OtherGates(decided)) placement::DropGate(decided, gate);
  decision.await_other_gates = false;
  for (const placement::CommonPlatforms& last :
       {placement::CommonPlatforms(), placement::CommonPlatforms({"arm64"})}) {
    decision.platforms = last;
    CheckRelease(decided, api::kClusterGate,
                 [&](Pod& one) { return placement::ReleaseCluster(one, decision); });
  }
}

// A protobuf pod, released by the shard and by the cluster controller.
void FuzzPod(const std::string& input) {
  Result<Pod> pod = kube::DecodeBare<Pod>(input);
  if (!pod) return;
  static const auto& configs = *new auto([] {
    Json json = {{"metadata", {{"name", "only"}, {"namespace", "shop"}}}};
    json["spec"]["plugins"]["nodeAffinityScoring"] = {
        {"enabled", true},
        {"platforms", Json::array({{{"architecture", "arm64"}, {"weight", 7}}})}};
    json["spec"]["plugins"]["architectureTolerations"] = {{"enabled", true}};
    json["spec"]["celRules"] =
        Json::array({{{"name", "large"},
                      {"expression", "true"},
                      {"platforms", Json::array({{{"architecture", "s390x"}, {"weight", 1}}})}}});
    return std::vector{*api::PodPlacementConfig::FromJson(std::move(json))};
  }());
  static const std::vector<api::Platform> platforms = {{"amd64", 1}, {"arm64", 2}};
  placement::MatchingConfigs matching = placement::ConfigsFor(*pod, configs);
  (void)placement::GatingConfigs(*pod);
  if (auto required = placement::RequiredPlatformsOf(*pod)) {
    size_t values = 0;
    for (const placement::PlatformRange& range : *required) {
      values += range.architectures.size() + range.operating_systems.size();
      CHECK(!range.architectures.IsEvery() && !range.architectures.IsNone());
    }
    CHECK_LE(values, placement::kMaxRequiredValues);
    CHECK(!placement::Describe(*required).empty());
  }
  for (placement::MatchingConfig& one : matching) one.rules.set();

  CheckRelease(*pod, api::kLocalGate,
               [&](Pod& one) { return placement::ReleaseLocal(one, matching); });
  placement::ClusterDecision decision{.configs = matching, .cluster_platforms = platforms};
  placement::CommonPlatforms of_two = placement::ArchitectureSet{"amd64", "arm64"};
  of_two.by_os["windows"] = {"amd64"};
  of_two.windows_builds = {"10.0.20348"};
  of_two.amd64_level = 3;
  placement::CommonPlatforms of_windows = of_two;
  of_windows.by_os.erase("linux");
  using Platforms = std::optional<placement::CommonPlatforms>;
  for (const Platforms& platforms : {Platforms(), Platforms(placement::CommonPlatforms()),
                                     Platforms(of_two), Platforms(of_windows)}) {
    for (bool take_over : {false, true}) {
      decision.platforms = platforms;
      decision.take_over_shard = take_over;
      if (!take_over && placement::HasGate(*pod, api::kLocalGate)) {
        Pod held = *pod;
        CHECK(!placement::ReleaseCluster(held, decision).released);  // I1
      }
      CheckRelease(*pod, api::kClusterGate,
                   [&](Pod& one) { return placement::ReleaseCluster(one, decision); });
      CheckAwaiting(*pod, decision);
    }
  }
  CheckRelease(*pod, api::kClusterGate,
               [](Pod& one) { return placement::ReleaseIgnored(one, api::kClusterGate); });
  CheckRelease(*pod, api::kLocalGate,
               [](Pod& one) { return placement::ReleaseIgnored(one, api::kLocalGate); });
  CheckRelease(*pod, api::kLocalGate,
               [&](Pod& one) { return placement::TakeOverLocal(one, matching); });
  (void)placement::IsIgnored(*pod, "ops");
  (void)placement::OptsOut(*pod, {"volcano"});
}

// core/v1 Node, protobuf.
void FuzzNode(const std::string& input) {
  cluster_controller::NodeImageIndex images(1000);
  (void)images.Add(input);
  CHECK_LE(images.nodes(), 1u);
  auto taint = operator_::FindArchitectureTaint(input);
  if (!taint || !*taint) return;
  CHECK((*taint)->effect == "NoSchedule" || (*taint)->effect == "NoExecute");
}

// A karpenter.sh/v1 NodePool.
void FuzzNodePool(const std::string& input) {
  Result<Json> pool = kube::ParseJson(input);
  if (!pool) return;
  static const auto& required = *new placement::RequiredPlatforms([] {
    placement::PlatformRange range;
    range.architectures.Restrict("In", {"arm64"});
    range.operating_systems.Restrict("NotIn", {"windows"});
    return placement::RequiredPlatforms{range};
  }());
  placement::NodeOffers offers;
  offers.AddNodePool(*pool);
  bool fit = offers.Fit(required);
  offers.AddNodePool(*pool);
  CHECK_EQ(offers.Fit(required), fit);
  offers.AddNodePool(Json::object());
  CHECK(offers.Fit(required)) << "a NodePool without requirements offers everything";
}

}  // namespace

std::vector<FuzzTarget> ApiTargets() {
  return {
      {"admission-review", FuzzAdmissionReview},
      {"config", FuzzConfig},
      {"frames", FuzzFrames},
      {"node", FuzzNode},
      {"node-pool", FuzzNodePool},
      {"pod", FuzzPod},
      {"watch-event", FuzzWatchEvent},
      {"yaml", FuzzYaml},
  };
}

}  // namespace fuzz
