// SPDX-License-Identifier: Apache-2.0
// ExcludedNamespaces: whether a namespace is excluded from placement, besides matching the
// namespaceSelector: each one that has the label kExcludeLabel, and, by its name, one that does not
// have the label kIncludeLabel. On OpenShift, these names are openshift-* and hypershift-*: the
// components of the platform itself.
//
// The names are a flag of the operator, and not a field: who installs on OpenShift gets a safe
// default without writing a selector, and a label selector cannot name namespaces by a prefix.
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
  // Excludes none by its name.
  ExcludedNamespaces() = default;
  // `patterns`: "openshift-*,hypershift-*". kInvalid for one that is not the begin of the name of a
  // namespace with a `*` at its end, and for more than kMaxExcludedNamespaces.
  static kube::Result<ExcludedNamespaces> Parse(std::string_view patterns);

  // Whether `ns` is excluded unless it has the label kIncludeLabel.
  bool Names(std::string_view ns) const;
  // `labels`: of the namespace. kExcludeLabel wins over kIncludeLabel.
  bool Excludes(std::string_view ns,
                const google::protobuf::Map<std::string, std::string>& labels) const;

  // True if no namespace is excluded by its name.
  bool empty() const { return prefixes_.empty(); }
  // Without the `*`.
  const std::vector<std::string>& prefixes() const { return prefixes_; }
  // What Parse() read.
  std::string ToString() const;

 private:
  std::vector<std::string> prefixes_;
};

}  // namespace api
