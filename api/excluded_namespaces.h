// SPDX-License-Identifier: Apache-2.0
// ExcludedNamespaces: namespaces whose pods are placed only if the Namespace has the label
// kIncludeLabel, besides matching the namespaceSelector. On OpenShift, these are openshift-* and
// hypershift-*: the components of the platform itself.
//
// A flag of the operator, and not a field: who installs on OpenShift gets a safe default without
// writing a selector, and a label selector cannot name namespaces by a prefix.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/meta.pb.h"

namespace api {

// The name of the label is the go operator's. Only who may change Namespaces can set it.
inline constexpr std::string_view kIncludeLabel = "multiarch.openshift.io/include-pod-placement";

// At most so many patterns, each of at most 63 characters: they are part of a condition that the
// API server evaluates for each new pod.
inline constexpr size_t kMaxExcludedNamespaces = 16;

class ExcludedNamespaces {
 public:
  // Excludes none.
  ExcludedNamespaces() = default;
  // `patterns`: "openshift-*,hypershift-*". kInvalid for one that is not the begin of the name of a
  // namespace with a `*` at its end, and for more than kMaxExcludedNamespaces.
  static kube::Result<ExcludedNamespaces> Parse(std::string_view patterns);

  // Whether `ns` is excluded unless it has the label.
  bool Names(std::string_view ns) const;
  bool Excludes(std::string_view ns,
                const google::protobuf::Map<std::string, std::string>& labels) const;

  bool empty() const { return prefixes_.empty(); }
  // Without the `*`.
  const std::vector<std::string>& prefixes() const { return prefixes_; }
  // What Parse() read.
  std::string ToString() const;

 private:
  std::vector<std::string> prefixes_;
};

}  // namespace api
