// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/work_objects.h"

#include <algorithm>
#include <utility>

#include "api/cluster_pod_placement_config.h"
#include "api/conditions.h"
#include "api/field_error.h"
#include "api/find_condition.h"
#include "api/names.h"
#include "api/pod_placement_config.h"
#include "fleet/api/reading.h"
#include "kube/base/utf8.h"
#include "kube/types/list_at.h"
#include "kube/types/object_fields.h"
#include "kube/types/object_name.h"

namespace fleet {
namespace {

using kube::Json;
using kube::Resource;

constexpr size_t kMaxMessage = 1024;
constexpr size_t kMaxNameInMessage = 64;
constexpr size_t kMaxOwnerInMessage = 127;  // "NAMESPACE.NAME", of 63 characters each

std::string Cut(std::string_view text, size_t bytes) {
  return std::string(kube::CutUtf8(text, bytes));
}

const Resource* AllowedKind(const Json& json) {
  std::string api_version = kube::StringAt(json, "apiVersion");
  std::string kind = kube::StringAt(json, "kind");
  for (const Resource& allowed : AppliedKinds()) {
    if (api_version == allowed.ApiVersion() && kind == allowed.kind) return &allowed;
  }
  return nullptr;
}

// The strings of metadata.labels or metadata.annotations.
Json StringsAt(const Json& json, std::string_view path) {
  Json strings = Json::object();
  for (const auto& [key, value] : kube::ObjectAt(json, path).items()) {
    if (value.is_string()) strings[key] = value;
  }
  return strings;
}

WorkObject Marked(const Resource& resource, kube::ObjectKey key, const Json& json,
                  const PodPlacementWork& work) {
  Json labels = StringsAt(json, "metadata.labels");
  labels[std::string(kWorkUidLabel)] = work.uid;
  Json annotations = StringsAt(json, "metadata.annotations");
  annotations[std::string(kWorkAnnotation)] = work.name;
  annotations[std::string(kWorkHashAnnotation)] = work.spec.hash;
  Json metadata = {{"name", key.name}, {"labels", labels}, {"annotations", annotations}};
  if (!key.ns.empty()) metadata["namespace"] = key.ns;
  Json body = {{"apiVersion", resource.ApiVersion()},
               {"kind", std::string(resource.kind)},
               {"metadata", std::move(metadata)}};
  const Json* spec = kube::Find(json, "spec");
  body["spec"] = spec != nullptr && spec->is_object() ? *spec : Json::object();
  return {resource, std::move(key), std::move(body)};
}

std::optional<WorkProblem> NameProblem(const Resource& resource, const kube::ObjectKey& key) {
  std::string where = Cut(key.ToString(), kMaxNameInMessage);
  bool valid = kube::IsObjectName(key.name) && resource.namespaced != key.ns.empty() &&
               (key.ns.empty() || kube::IsObjectName(key.ns));
  if (valid && !resource.namespaced) valid = key.name == api::kClusterConfigName;
  if (valid) return {};
  return WorkProblem{std::string(kInvalidWork),
                     std::string(resource.kind) + " \"" + where + "\": bad name or namespace"};
}

bool IsEmpty(const Json& value) { return value.is_null() || (value.is_object() && value.empty()); }

}  // namespace

const std::vector<Resource>& AppliedKinds() {
  static const std::vector<Resource> kKinds = {
      kube::ResourceOf<api::ClusterPodPlacementConfig>::value,
      kube::ResourceOf<api::PodPlacementConfig>::value};
  return kKinds;
}

WorkObjects ObjectsOf(const PodPlacementWork& work) {
  if (!work.problems.empty())
    return {{}, WorkProblem{std::string(kInvalidWork), api::Describe(work.problems)}};
  WorkObjects all;
  std::set<std::pair<std::string_view, kube::ObjectKey>> seen;
  for (const Json& json : work.spec.objects) {
    const Resource* resource = AllowedKind(json);
    if (resource == nullptr) {
      std::string what = kube::StringAt(json, "apiVersion") + " " + kube::StringAt(json, "kind");
      return {{},
              WorkProblem{std::string(kKindNotAllowed),
                          "this agent applies no \"" + Cut(what, kMaxNameInMessage) + "\""}};
    }
    kube::ObjectKey key{resource->namespaced ? kube::StringAt(json, "metadata.namespace") : "",
                        kube::StringAt(json, "metadata.name")};
    if (auto problem = NameProblem(*resource, key)) return {{}, std::move(problem)};
    if (!seen.emplace(resource->kind, key).second) {
      return {{},
              WorkProblem{std::string(kInvalidWork),
                          std::string(resource->kind) + " " + key.ToString() + " twice"}};
    }
    all.objects.push_back(Marked(*resource, std::move(key), json, work));
  }
  return all;
}

std::string WorkUidOf(const Json& stored) {
  return MetadataString(stored, "metadata.labels", kWorkUidLabel);
}

WorkAction ActionFor(const WorkObject& object, const Json* stored, const PodPlacementWork& work,
                     const std::set<std::string>& works) {
  if (stored == nullptr) return WorkAction::kCreate;
  std::string uid = WorkUidOf(*stored);
  if (uid == work.uid)
    return Contains(*stored, object.json) ? WorkAction::kNothing : WorkAction::kApply;
  if (uid.empty()) return work.spec.adopt ? WorkAction::kApply : WorkAction::kConflict;
  return works.contains(uid) ? WorkAction::kConflict : WorkAction::kApply;
}

std::string ConflictMessage(const WorkObject& object, const Json& stored) {
  if (WorkUidOf(stored).empty())
    return object.Name() + " exists and was not applied by a FleetPodPlacement";
  std::string owner = MetadataString(stored, "metadata.annotations", kWorkAnnotation);
  return object.Name() + " belongs to another PodPlacementWork, \"" +
         Cut(owner, kMaxOwnerInMessage) + "\"";
}

bool Contains(const Json& stored, const Json& wanted) {
  if (wanted.is_object()) {
    if (!stored.is_object()) return wanted.empty() && stored.is_null();
    for (const auto& [key, value] : wanted.items()) {
      auto found = stored.find(key);
      if (found == stored.end() ? !IsEmpty(value) : !Contains(*found, value)) return false;
    }
    return true;
  }
  if (wanted.is_array()) {
    if (!stored.is_array() || stored.size() != wanted.size()) return false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!Contains(stored[i], wanted[i])) return false;
    }
    return true;
  }
  return stored == wanted;
}

std::optional<WorkProblem> AvailabilityProblem(const WorkObject& object, const Json& stored) {
  WorkProblem problem{std::string(kNotAvailable), object.Name() + ": not Available yet", false};
  const Json* available = kube::ConditionOf(stored, api::kAvailable);
  if (available == nullptr) return problem;
  // The operator need not write the generation.
  int64_t generation = kube::IntAt(stored, "metadata.generation");
  if (kube::IntAt(*available, "observedGeneration", generation) < generation) return problem;
  if (kube::StringAt(*available, "status") == "True") return {};
  problem.message = Cut(object.Name() + ": not Available: " + kube::StringAt(*available, "reason") +
                            ": " + kube::StringAt(*available, "message"),
                        kMaxMessage);
  return problem;
}

PodPlacementWorkStatus AnswerOf(const PodPlacementWork& work, int64_t generation,
                                const std::vector<WorkProblem>& problems, kube::WallTime now) {
  PodPlacementWorkStatus status;
  status.hash = work.spec.hash;
  const api::Condition* before = api::FindCondition(work.status.conditions, kSucceededCondition);
  if (before != nullptr) status.conditions = {*before};
  api::Condition condition{.type = std::string(kSucceededCondition),
                           .status = "True",
                           .reason = "Succeeded",
                           .message = "Every object is applied and available",
                           .observed_generation = generation};
  WorkPhase phase = WorkPhase::kSucceeded;
  if (!problems.empty()) {
    auto first = std::find_if(problems.begin(), problems.end(),
                              [](const WorkProblem& problem) { return problem.failed; });
    if (first == problems.end()) first = problems.begin();
    phase = first->failed ? WorkPhase::kFailed : WorkPhase::kProgressing;
    condition.status = "False";
    condition.reason = first->reason;
    condition.message = Cut(first->message, kMaxMessage);
    if (problems.size() > 1)
      condition.message += " (and " + std::to_string(problems.size() - 1) + " more)";
  }
  status.phase = kWorkPhases[static_cast<size_t>(phase)];
  api::SetCondition(status.conditions, std::move(condition), now);
  return status;
}

}  // namespace fleet
