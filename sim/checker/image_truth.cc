// SPDX-License-Identifier: Apache-2.0
#include "sim/checker/image_truth.h"

#include <algorithm>
#include <utility>

namespace sim::checker {
namespace {

// The values in force at some time from `from` to `to`; `initial` before the first change.
template <typename T>
std::vector<T> During(const std::vector<std::pair<Time, T>>* changes, const T& initial, Time from,
                      Time to) {
  std::vector<T> values = {initial};
  if (changes == nullptr) return values;
  for (const auto& [at, value] : *changes) {
    if (at > to) break;
    if (at <= from) values.clear();
    values.push_back(value);
  }
  return values;
}

template <typename T>
const T* Lookup(const std::map<std::string, T>& map, const std::string& key) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

}  // namespace

void ImageTruth::SetPlatforms(const std::string& reference, Time from, std::optional<Image> image) {
  images_[reference].emplace_back(from, std::move(image));
}

void ImageTruth::SetRegistry(const std::string& registry, Time from, Registry state) {
  registries_[registry].emplace_back(from, state);
}

std::vector<std::optional<Image>> ImageTruth::ImagesDuring(const std::string& reference, Time from,
                                                           Time to) const {
  return During<std::optional<Image>>(Lookup(images_, reference), std::nullopt, from, to);
}

std::vector<Registry> ImageTruth::RegistryDuring(const std::string& reference, Time from,
                                                 Time to) const {
  std::string registry = reference.substr(0, reference.find('/'));
  return During<Registry>(Lookup(registries_, registry), Registry::kAnswers, from, to);
}

std::vector<Image> ImageTruth::Found(const std::string& reference, Time from, Time to,
                                     Time stale_for) const {
  std::vector<Registry> states = RegistryDuring(reference, from, to);
  auto answers = [](Registry state) { return state != Registry::kFails; };
  bool fails = std::any_of(states.begin(), states.end(),
                           [](Registry state) { return state != Registry::kAnswers; });
  std::vector<std::optional<Image>> images;
  if (fails && stale_for > Time::zero())
    images = ImagesDuring(reference, from - stale_for, to);
  else if (std::any_of(states.begin(), states.end(), answers))
    images = ImagesDuring(reference, from, to);
  std::vector<Image> found;
  for (std::optional<Image>& image : images) {
    if (image && std::find(found.begin(), found.end(), *image) == found.end())
      found.push_back(std::move(*image));
  }
  return found;
}

bool ImageTruth::MayFail(const std::string& reference, Time from, Time to) const {
  for (Registry state : RegistryDuring(reference, from, to)) {
    if (state != Registry::kAnswers) return true;
  }
  for (const std::optional<Image>& image : ImagesDuring(reference, from, to)) {
    if (!image) return true;
  }
  return false;
}

}  // namespace sim::checker
