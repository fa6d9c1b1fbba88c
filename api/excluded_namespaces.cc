// SPDX-License-Identifier: Apache-2.0
#include "api/excluded_namespaces.h"

#include <algorithm>

#include "api/names.h"
#include "kube/base/split.h"

namespace api {
namespace {

// The longest name of a namespace.
constexpr size_t kMaxName = 63;

bool IsOfAName(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }

}  // namespace

kube::Result<ExcludedNamespaces> ExcludedNamespaces::Parse(std::string_view patterns) {
  ExcludedNamespaces excluded;
  for (std::string& pattern : kube::SplitAtCommas(patterns)) {
    bool valid = pattern.size() > 1 && pattern.size() <= kMaxName && pattern.back() == '*';
    pattern.pop_back();
    if (!valid || !std::all_of(pattern.begin(), pattern.end(), IsOfAName))
      return kube::Error::Invalid("excluded namespaces must have the form PREFIX*");
    excluded.prefixes_.push_back(std::move(pattern));
  }
  if (excluded.prefixes_.size() > kMaxExcludedNamespaces) {
    return kube::Error::Invalid("more than " + std::to_string(kMaxExcludedNamespaces) +
                                " excluded namespaces");
  }
  return excluded;
}

bool ExcludedNamespaces::Names(std::string_view ns) const {
  return std::any_of(prefixes_.begin(), prefixes_.end(),
                     [&](const std::string& prefix) { return ns.starts_with(prefix); });
}

bool ExcludedNamespaces::Excludes(
    std::string_view ns, const google::protobuf::Map<std::string, std::string>& labels) const {
  if (labels.contains(std::string(kExcludeLabel))) return true;
  return Names(ns) && !labels.contains(std::string(kIncludeLabel));
}

std::string ExcludedNamespaces::ToString() const {
  std::string text;
  for (const std::string& prefix : prefixes_) text += (text.empty() ? "" : ",") + prefix + "*";
  return text;
}

}  // namespace api
