// SPDX-License-Identifier: Apache-2.0
#include "placement/label_range.h"

#include <algorithm>
#include <utility>

#include "kube/base/join.h"

namespace placement {
namespace {

// The value of a node without the label.
constexpr const char* kAbsent = "";
// The API server's limit.
constexpr size_t kMaxLabelValue = 63;
constexpr size_t kShown = 8;

}  // namespace

void LabelRange::Restrict(std::string_view op, const std::vector<std::string>& values) {
  auto is_too_long = [](const std::string& value) { return value.size() > kMaxLabelValue; };
  if (values.size() > kMaxLabelValues || std::any_of(values.begin(), values.end(), is_too_long))
    return;
  std::set<std::string> named(values.begin(), values.end());
  if (op == "Exists" || op == "DoesNotExist") named = {kAbsent};
  bool keeps_named = op == "In" || op == "DoesNotExist";
  bool keeps_others = op == "NotIn" || op == "Exists";
  if (!keeps_named && !keeps_others) return;

  if (!all_but_) {
    std::erase_if(values_,
                  [&](const std::string& value) { return named.contains(value) != keeps_named; });
  } else if (keeps_others) {
    if (values_.size() + named.size() <= kMaxLabelValues) values_.merge(named);
  } else {
    for (const std::string& excluded : values_) named.erase(excluded);
    values_ = std::move(named);
    all_but_ = false;
  }
}

bool LabelRange::IsEvery() const {
  return all_but_ && (values_.empty() || values_ == std::set<std::string>{kAbsent});
}

bool LabelRange::Overlaps(const LabelRange& other) const {
  if (all_but_ && other.all_but_) return true;
  const LabelRange& some = all_but_ ? other : *this;
  const LabelRange& more = all_but_ ? *this : other;
  return std::any_of(some.values_.begin(), some.values_.end(), [&](const std::string& value) {
    return more.values_.contains(value) != more.all_but_;
  });
}

std::string LabelRange::ToString() const {
  std::vector<std::string> named;
  for (const std::string& value : values_) {
    if (value != kAbsent) named.push_back(value);
  }
  if (named.empty()) return all_but_ ? "any" : "none";
  return (all_but_ ? "any but " : "") + kube::Join(named, kShown);
}

}  // namespace placement
