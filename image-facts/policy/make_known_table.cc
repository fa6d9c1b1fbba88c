// SPDX-License-Identifier: Apache-2.0
#include "image-facts/policy/make_known_table.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "image-facts/by_config.h"
#include "image-facts/image_fact.h"
#include "placement/placed_at_creation.h"
#include "webhook/placement_patch.h"

namespace image_facts {
namespace {

using kube::Json;
using operator_::kMaxLetters;
using operator_::KnownTable;
using operator_::TablePlacement;
using placement::SharedPlatforms;

constexpr size_t kMaxMixed = 3;

// What is in the names of images, and needs no escape in an expression.
bool IsPlain(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@[]";
  return name.find_first_not_of(kPlain) == std::string_view::npos;
}

std::map<std::string, std::string> StringsAt(const Json& pod, const char* field) {
  return pod["metadata"].value(field, std::map<std::string, std::string>());
}

// What a pod gets that has no fields of its own and images with these platforms; nullopt: it is
// gated.
std::optional<TablePlacement> PlacementOf(const std::vector<SharedPlatforms>& platforms,
                                          const api::ClusterPodPlacementConfig& config) {
  webhook::PodInReview before;
  kube::core::Pod placed = before.pod;
  placed.mutable_spec()->add_containers()->set_image("known");
  if (!placement::PlaceAtCreation(placed, DecisionBy(config, placement::Common(platforms))))
    return std::nullopt;
  std::optional<std::string> patch = webhook::PlacementPatch(before, placed);
  if (!patch) return std::nullopt;
  Json pod = {{"metadata", Json::object()}, {"spec", Json::object()}};
  pod = pod.patch(kube::MustParseJson(*patch));
  const Json* affinity = kube::Find(pod, "spec.affinity.nodeAffinity");
  if (affinity == nullptr || pod["spec"].size() != 1) return std::nullopt;
  return TablePlacement{*affinity, StringsAt(pod, "labels"), StringsAt(pod, "annotations")};
}

// The most frequent platforms, by their text.
std::map<std::string, SharedPlatforms> MostFrequent(std::span<const KnownImage> images) {
  struct Group {
    SharedPlatforms platforms;
    size_t images = 0;
  };
  std::map<std::string, Group> groups;
  for (const KnownImage& known : images) {
    Group& group = groups[PlatformsToText(*known.platforms)];
    group.platforms = known.platforms;
    ++group.images;
  }
  groups.erase("");
  std::vector<std::pair<size_t, std::string>> order;
  for (const auto& [text, group] : groups) order.emplace_back(group.images, text);
  std::sort(order.rbegin(), order.rend());
  if (order.size() > kMaxLetters) order.resize(kMaxLetters);
  std::map<std::string, SharedPlatforms> most;
  for (const auto& [count, text] : order) most[text] = groups[text].platforms;
  return most;
}

class Builder {
 public:
  Builder(std::span<const KnownImage> images, const api::ClusterPodPlacementConfig& config)
      : config_(config) {
    std::map<std::string, char> letters;
    for (const auto& [text, platforms] : MostFrequent(images)) {
      letters[text] = static_cast<char>('a' + platforms_.size());
      platforms_.push_back(platforms);
    }
    for (const KnownImage& known : images) {
      auto letter = letters.find(PlatformsToText(*known.platforms));
      if (letter == letters.end() || !IsPlain(known.image)) continue;
      for (std::string& name : SpellingsOf(known.image))
        table_.images[std::move(name)] = letter->second;
    }
    Combine(0, "", {});
  }

  KnownTable Finish() && { return std::move(table_); }

 private:
  // Adds all combinations that begin with `letters`, which have `platforms`.
  void Combine(size_t next, const std::string& letters, const std::vector<SharedPlatforms>& mixed) {
    if (mixed.size() == kMaxMixed) return;
    for (size_t i = next; i < platforms_.size(); ++i) {
      std::vector<SharedPlatforms> more = mixed;
      more.push_back(platforms_[i]);
      const std::string name = letters + static_cast<char>('a' + i);
      if (std::optional<TablePlacement> placement = PlacementOf(more, config_))
        table_.combinations[name] = IndexOf(std::move(*placement));
      Combine(i + 1, name, more);
    }
  }

  size_t IndexOf(TablePlacement placement) {
    auto found = std::find(table_.placements.begin(), table_.placements.end(), placement);
    const auto index = static_cast<size_t>(found - table_.placements.begin());
    if (found == table_.placements.end()) table_.placements.push_back(std::move(placement));
    return index;
  }

  const api::ClusterPodPlacementConfig& config_;
  KnownTable table_;
  std::vector<SharedPlatforms> platforms_;  // of each letter
};

}  // namespace

std::vector<std::string> SpellingsOf(const std::string& image) {
  constexpr std::string_view kDockerHub = "docker.io/", kLibrary = "library/";
  std::vector<std::string> names = {image};
  if (!image.starts_with(kDockerHub)) return names;
  std::string_view path = std::string_view(image).substr(kDockerHub.size());
  if (path.starts_with(kLibrary)) path.remove_prefix(kLibrary.size());
  names.emplace_back(path);
  return names;
}

KnownTable MakeKnownTable(std::span<const KnownImage> images,
                          const api::ClusterPodPlacementConfig& config) {
  Builder builder(images, config);
  return std::move(builder).Finish();
}

}  // namespace image_facts
