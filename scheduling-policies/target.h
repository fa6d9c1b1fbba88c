// SPDX-License-Identifier: Apache-2.0
// Target: which admission requests get the criteria of policies, and where the pod spec is in their
// objects. Pure: the request and the labels of its namespace are the only input.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kube/types/unstructured.h"
#include "placement/selector.h"

namespace policy {

// The parts of an AdmissionReview's request that decide. The views belong to the caller.
struct Request {
  std::string_view group;     // "" for core
  std::string_view resource;  // "deployments"
  std::string_view subresource;
  std::string_view operation;  // "CREATE", "UPDATE"
  std::string_view ns;
  std::string_view user;  // who makes the request
  // nullptr if the request has none.
  const kube::Json* object = nullptr;
  const kube::Json* old_object = nullptr;
};

struct TargetOptions {
  // The namespace of the operator and its operands: nothing in it is changed.
  std::string_view operator_namespace;
  // An update gets the criteria only if it changes the pod template. Otherwise a new policy
  // restarts the pods of a workload at its next update.
  bool only_changed_templates = false;
};

// Dotted paths in the object (kube::Find). A pod's metadata is the object's; that of a workload is
// its pod template's: the labels of the workload itself do not count.
struct Target {
  std::string spec_path;      // "spec.template.spec"
  std::string metadata_path;  // "spec.template.metadata"
  const kube::Json* spec = nullptr;
  // Everyone can label a pod or a DaemonSet as an operand of the operator: only the policies of its
  // namespace, whose owners may do so, leave it unchanged.
  bool only_cluster_policies = false;
  // Why nothing is changed; empty for a target. Other members are only set for a target.
  std::string_view left_unchanged;

  explicit operator bool() const { return left_unchanged.empty(); }
  // The JSON Pointer of the pod spec: "/spec/template/spec".
  std::string SpecPointer() const;
};

// The dotted path of the pod, or of the pod template, in objects of a resource: "" for pods.
// nullopt for a resource that has none.
std::optional<std::string_view> PodPathOf(std::string_view group, std::string_view resource);

// True for namespaces in which nothing is changed: kube-*, the operator's, and those labelled
// role=kube-system.
bool IsExcludedNamespace(std::string_view ns, const placement::Labels& labels,
                         std::string_view operator_namespace);

// Why a request is left unchanged whatever its object is; empty if the object decides.
std::string_view UnchangedWithoutObject(const Request& request,
                                        const placement::Labels& namespace_labels,
                                        const TargetOptions& options);

// `namespace_labels`: of the request's namespace. The object is untrusted: one without a pod spec
// is left unchanged.
Target FindTarget(const Request& request, const placement::Labels& namespace_labels,
                  const TargetOptions& options);

// The labels of the pods, by which policies select. Values that are not strings are left out.
placement::Labels PodLabels(const kube::Json& object, const Target& target);

}  // namespace policy
