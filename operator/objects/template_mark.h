// SPDX-License-Identifier: Apache-2.0
// TemplateMark: which pod template the operator applied to a Deployment, and what that replaced.
// It is an annotation of the Deployment, as the operator does not keep whole Deployments in memory.
// The owner of the namespace may change it, which only affects when this shard is upgraded.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/types/unstructured.h"

namespace operator_ {

inline constexpr std::string_view kTemplateAnnotation = "multiarch.openshift.io/pod-template";

struct TemplateMark {
  enum class Replaced {
    kNothing,  // the Deployment is new
    kBroken,   // a template of pods that did not run
    kRunning,
  };

  // The hash of spec.template.
  std::string hash;
  Replaced replaced = Replaced::kNothing;

  bool operator==(const TemplateMark&) const = default;
};

// The mark of `deployment`; nullopt for none, or one that is not valid.
std::optional<TemplateMark> MarkOf(const kube::Json& deployment);

// The hash of the spec.template of `deployment`.
std::string TemplateHash(const kube::Json& deployment);

void SetMark(kube::Json& deployment, const TemplateMark& mark);

// Marks the desired `deployment`. `exists`, `current`: whether the Deployment is in the cluster,
// and with which mark; `runs`: whether its pods run. Returns: true if applying it replaces a
// template, which restarts pods.
bool MarkTemplate(kube::Json& deployment, bool exists, const std::optional<TemplateMark>& current,
                  bool runs);

}  // namespace operator_
