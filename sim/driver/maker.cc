// SPDX-License-Identifier: Apache-2.0
#include "sim/driver/maker.h"

#include "sim/driver/images.h"

namespace sim {

const std::vector<std::string>& Maker::Namespaces() {
  static const auto& names = *new std::vector<std::string>{"bank", "lab", "shop"};
  return names;
}

const std::vector<std::string>& Maker::Configs() {
  static const auto& names = *new std::vector<std::string>{"a", "b", "c"};
  return names;
}

const std::vector<std::string>& Maker::Architectures() {
  static const auto& names = *new std::vector<std::string>{"amd64", "arm64", "ppc64le", "s390x"};
  return names;
}

kube::ObjectKey Maker::NewPod() {
  pods_.push_back({Namespace(), "pod-" + std::to_string(pods_.size())});
  return pods_.back();
}

kube::ObjectKey Maker::Pod() {
  if (pods_.empty()) return {Namespace(), "no-pod"};
  // Those that wait are mostly the latest.
  const size_t latest = 5;
  const size_t size = pods_.size();
  if (size > latest && !random_.OnceIn(4)) return pods_[size - 1 - random_.Below(latest)];
  return random_.Of(pods_);
}

std::string Maker::Image() { return random_.Of(ImageNames()); }

std::string Maker::Architecture() { return random_.Of(Architectures()); }

int64_t Maker::Number(int64_t least, int64_t most) {
  return least + static_cast<int64_t>(random_.Below(static_cast<uint64_t>(most - least + 1)));
}

std::vector<std::string> Maker::Some(const std::vector<std::string>& items, uint64_t once_in) {
  std::vector<std::string> some;
  for (const std::string& item : items) {
    if (random_.OnceIn(once_in)) some.push_back(item);
  }
  return some;
}

}  // namespace sim
