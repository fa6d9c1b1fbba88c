// SPDX-License-Identifier: Apache-2.0
#include "kube/types/object_fields.h"

#include <algorithm>

#include "kube/types/list_at.h"

namespace kube {
namespace {

Json FinalizersPatch(const Json& object, Json finalizers) {
  return {{"metadata",
           {{"resourceVersion", StringAt(object, "metadata.resourceVersion")},
            {"finalizers", std::move(finalizers)}}}};
}

}  // namespace

bool HasFinalizer(const Json& object, std::string_view finalizer) {
  const Json& finalizers = ListAt(object, "metadata.finalizers");
  return std::find(finalizers.begin(), finalizers.end(), Json(finalizer)) != finalizers.end();
}

Json WithFinalizer(const Json& object, std::string_view finalizer) {
  Json finalizers = ListAt(object, "metadata.finalizers");
  if (!HasFinalizer(object, finalizer)) finalizers.push_back(finalizer);
  return FinalizersPatch(object, std::move(finalizers));
}

Json WithoutFinalizer(const Json& object, std::string_view finalizer) {
  Json finalizers = ListAt(object, "metadata.finalizers");
  finalizers.erase(std::remove(finalizers.begin(), finalizers.end(), Json(finalizer)),
                   finalizers.end());
  return FinalizersPatch(object, std::move(finalizers));
}

const Json* ControllerOf(const Json& object) {
  for (const Json& owner : ListAt(object, "metadata.ownerReferences")) {
    if (BoolAt(owner, "controller")) return &owner;
  }
  return nullptr;
}

const Json* ConditionOf(const Json& object, std::string_view type) {
  for (const Json& condition : ListAt(object, "status.conditions")) {
    if (StringAt(condition, "type") == type) return &condition;
  }
  return nullptr;
}

std::string ConditionStatus(const Json& object, std::string_view type) {
  const Json* condition = ConditionOf(object, type);
  return condition == nullptr ? "" : StringAt(*condition, "status");
}

}  // namespace kube
