// SPDX-License-Identifier: Apache-2.0
#include "fleet/scheduling/selectors.h"

#include <algorithm>

namespace fleet {

void Selectors::Require(Source source, const std::string& key, SelectorOperator op,
                        const std::vector<std::string_view>& values) {
  auto [found, added] = keys_[source].try_emplace(key);
  if (added) {
    found->second.column = current_.size();
    current_.push_back(kAbsent);
  }
  Requirement& requirement = requirements_.emplace_back();
  requirement.column = found->second.column;
  requirement.op = op;
  ByText<int32_t>& numbers = found->second.values;
  for (std::string_view value : values) {
    auto number = numbers.try_emplace(std::string(value), static_cast<int32_t>(numbers.size()));
    requirement.values.push_back(number.first->second);
  }
  std::sort(requirement.values.begin(), requirement.values.end());
}

size_t Selectors::Add(const kube::meta::LabelSelector& selector, Source source) {
  for (const auto& [key, value] : selector.match_labels())
    Require(source, key, SelectorOperator::kIn, {value});
  for (const kube::meta::LabelSelectorRequirement& expression : selector.match_expressions()) {
    Require(source, expression.key(), OperatorOf(expression.operator_()),
            {expression.values().begin(), expression.values().end()});
  }
  ends_.push_back(requirements_.size());
  return ends_.size() - 1;
}

void Selectors::Set(const Key& key, std::string_view value) {
  auto number = key.values.find(value);
  current_[key.column] = number == key.values.end() ? kUnlisted : number->second;
}

void Selectors::ReadFrom(const Properties& properties, const ByText<Key>& keys) {
  // The fewer look-ups: of the keys in the cluster, or of the cluster's in the keys.
  if (keys.size() < properties.size()) {
    for (const auto& [name, key] : keys) {
      if (auto value = properties.Find(name)) Set(key, *value);
    }
    return;
  }
  for (size_t i = 0; i < properties.size(); ++i) {
    auto [name, value] = properties.At(i);
    auto key = keys.find(name);
    if (key != keys.end()) Set(key->second, value);
  }
}

void Selectors::Read(const ManagedCluster& cluster) {
  std::fill(current_.begin(), current_.end(), kAbsent);
  ReadFrom(cluster.labels, keys_[kLabels]);
  ReadFrom(cluster.claims, keys_[kClaims]);
}

bool Selectors::Matches(size_t selector) const {
  const size_t begin = selector == 0 ? 0 : ends_[selector - 1];
  for (size_t i = begin; i < ends_[selector]; ++i) {
    const Requirement& requirement = requirements_[i];
    const int32_t value = current_[requirement.column];
    const bool listed = value >= 0 && std::binary_search(requirement.values.begin(),
                                                         requirement.values.end(), value);
    if (!Holds(requirement.op, value != kAbsent, listed)) return false;
  }
  return true;
}

}  // namespace fleet
