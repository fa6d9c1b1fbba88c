// SPDX-License-Identifier: Apache-2.0
// What the rules read of a pod as JSON. A field that is absent or of a wrong type counts as empty.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/checker/commit.h"
#include "sim/checker/writer.h"

namespace sim::checker {

bool HasGate(const Json& pod, std::string_view gate);
// Has the cluster gate or the local gate.
bool IsGated(const Json& pod);
// The gates of other controllers, in their order.
std::vector<std::string> OtherGates(const Json& pod);

bool HasLabel(const Json& object, std::string_view key);
// "" without the label, or the annotation.
std::string LabelOf(const Json& object, std::string_view key);
std::string AnnotationOf(const Json& object, std::string_view key);
// All labels, or annotations; empty if there are none.
const Json& LabelsOf(const Json& object);
const Json& AnnotationsOf(const Json& object);

const Json& RequiredTermsOf(const Json& pod);
const Json& PreferredTermsOf(const Json& pod);
const Json& TolerationsOf(const Json& pod);
// The value for `key` in spec.nodeSelector, or nullptr.
const Json* NodeSelectorValue(const Json& pod, std::string_view key);

// The term has an expression with this key.
bool HasExpressionOn(const Json& term, std::string_view key);
// 1 to 32 lower-case letters and digits, and not one of the two reserved names.
bool IsArchitecture(std::string_view name);

// A change of a pod that exists before and after: not its creation or deletion, and not its status.
struct PodChange {
  const Commit& commit;
  Writer writer;
  const Json& before;
  const Json& after;

  bool Removes(std::string_view gate) const {
    return HasGate(before, gate) && !HasGate(after, gate);
  }
  bool RemovesGate() const;
};

// Whether `commit` is one; PodChange refers to its parts.
bool IsPodChange(const Commit& commit);

}  // namespace sim::checker
