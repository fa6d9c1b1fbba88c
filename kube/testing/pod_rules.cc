// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/pod_rules.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace kube {
namespace {

constexpr char kRequired[] = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr char kAffinityPath[] = "spec.affinity.nodeAffinity.";

Cause Forbidden(std::string field, const std::string& why) {
  return {"FieldValueForbidden", "Forbidden: " + why, std::move(field)};
}
Cause Invalid(std::string field, const Json& value, const std::string& why) {
  return {"FieldValueInvalid", "Invalid value: " + DumpJson(value) + ": " + why, std::move(field)};
}

// The list or map at `path`, or an empty list.
const Json& At(const Json& object, const std::string& path) {
  static const Json kNone = Json::array();
  const Json* value = Find(object, path);
  return value == nullptr || value->is_null() ? kNone : *value;
}

// Go's decoded objects do not tell an empty value from an absent one.
Json Normalized(const Json& value) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& item : value) list.push_back(Normalized(item));
    return list;
  }
  if (!value.is_object()) return value;
  Json object = Json::object();
  for (const auto& [name, inner] : value.items()) {
    bool absent = inner.is_null() || (inner.is_array() && inner.empty()) ||
                  (inner.is_string() && inner.get_ref<const std::string&>().empty());
    if (!absent) object[name] = Normalized(inner);
  }
  return object;
}

void CheckGates(const Json& before, const Json& after, std::vector<Cause>& problems) {
  const Json& old_gates = At(before, "spec.schedulingGates");
  const Json& gates = At(after, "spec.schedulingGates");
  for (size_t i = 0; i < gates.size(); ++i) {
    std::string name = StringAt(gates[i], "name");
    bool known = std::any_of(old_gates.begin(), old_gates.end(),
                             [&](const Json& gate) { return StringAt(gate, "name") == name; });
    if (known) continue;
    problems.push_back(
        Forbidden("spec.schedulingGates[" + std::to_string(i) + "].name",
                  "only deletion is allowed, but found new scheduling gate '" + name + "'"));
  }
}

void CheckTolerations(const Json& before, const Json& after, std::vector<Cause>& problems) {
  auto but_seconds = [](const Json& toleration) {
    Json rest = Normalized(toleration);
    rest.erase("tolerationSeconds");
    return rest;
  };
  const Json& tolerations = At(after, "spec.tolerations");
  for (const Json& old : At(before, "spec.tolerations")) {
    Json wanted = but_seconds(old);
    bool kept = std::any_of(tolerations.begin(), tolerations.end(),
                            [&](const Json& one) { return but_seconds(one) == wanted; });
    if (kept) continue;
    problems.push_back(
        Forbidden("spec.tolerations",
                  "existing toleration can not be modified except its tolerationSeconds"));
    return;
  }
}

// Whether `after` begins with all of `before`.
bool OnlyAdds(const Json& before, const Json& after) {
  return before.size() <= after.size() && std::equal(before.begin(), before.end(), after.begin());
}

bool OnlyNarrows(const Json& before, const Json& after) {
  bool matches_nothing =
      At(before, "matchExpressions").empty() && At(before, "matchFields").empty();
  bool has_any = !At(after, "matchExpressions").empty() || !At(after, "matchFields").empty();
  if (matches_nothing && has_any) return false;
  return OnlyAdds(At(before, "matchExpressions"), At(after, "matchExpressions")) &&
         OnlyAdds(At(before, "matchFields"), At(after, "matchFields"));
}

void CheckNodeAffinity(const Json& before, const Json& after, std::vector<Cause>& problems) {
  std::string path = std::string(kAffinityPath) + kRequired + ".nodeSelectorTerms";
  Json old_terms = Normalized(At(before, path));
  Json terms = Normalized(At(after, path));
  if (old_terms.empty()) return;
  if (old_terms.size() != terms.size()) {
    problems.push_back(Invalid(
        path, terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed"));
    return;
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    if (OnlyNarrows(old_terms[i], terms[i])) continue;
    problems.push_back(Invalid(path + "[" + std::to_string(i) + "]", terms[i],
                               "only additions are allowed (no mutations or deletions)"));
  }
}

void CheckNodeSelector(const Json& before, const Json& after, std::vector<Cause>& problems) {
  const Json& selector = At(after, "spec.nodeSelector");
  for (const auto& [key, value] : At(before, "spec.nodeSelector").items()) {
    if (selector.is_object() && selector.contains(key) && selector.at(key) == value) continue;
    problems.push_back(
        Invalid("spec.nodeSelector", selector,
                "only additions to spec.nodeSelector are allowed (no mutations or deletions)"));
    return;
  }
}

// The spec without what an update may change.
Json Unchangeable(const Json& pod, bool gated) {
  const Json* found = Find(pod, "spec");
  Json spec = Normalized(found == nullptr ? Json::object() : *found);
  spec.erase("schedulingGates");
  spec.erase("tolerations");
  for (const char* list : {"containers", "initContainers"}) {
    if (!spec.contains(list)) continue;
    for (Json& container : spec[list]) container.erase("image");
  }
  if (!gated) return spec;
  spec.erase("nodeSelector");
  if (!spec.contains("affinity")) return spec;
  spec["affinity"].erase("nodeAffinity");
  if (spec["affinity"].empty()) spec.erase("affinity");
  return spec;
}

}  // namespace

Result<FakeObject> NewPod(const FakeObject& pod, bool keep) {
  Result<std::shared_ptr<const Json>> json = pod.AsJson();
  if (!json) return json.error();
  if (keep && !StringAt(**json, "status.phase").empty()) return pod;
  Json made = **json;
  made["status"] = {{"phase", "Pending"}};
  if (!At(made, "spec.schedulingGates").empty()) {
    made["status"]["conditions"] =
        Json::array({{{"type", "PodScheduled"},
                      {"status", "False"},
                      {"reason", "SchedulingGated"},
                      {"message", "Scheduling is blocked due to non-empty scheduling gates"}}});
  }
  return pod.WithJson(std::move(made));
}

std::vector<Cause> PodUpdateProblems(const Json& before, const Json& after) {
  std::vector<Cause> problems;
  for (const char* list : {"containers", "initContainers"}) {
    std::string path = std::string("spec.") + list;
    if (At(before, path).size() == At(after, path).size()) continue;
    problems.push_back(Forbidden(path, "pod updates may not add or remove containers"));
    return problems;
  }
  CheckTolerations(before, after, problems);
  CheckGates(before, after, problems);
  bool gated = !At(before, "spec.schedulingGates").empty();
  if (gated) {
    CheckNodeSelector(before, after, problems);
    CheckNodeAffinity(before, after, problems);
  }
  Json old_spec = Unchangeable(before, gated);
  Json spec = Unchangeable(after, gated);
  if (old_spec != spec) {
    problems.push_back(Forbidden(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`, "
        "`spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only "
        "additions to existing tolerations), `spec.terminationGracePeriodSeconds` (allow it to be "
        "set to 1 if it was previously negative): " +
            DumpJson(Json::diff(old_spec, spec))));
  }
  return problems;
}

Result<void> CheckPodUpdate(const FakeObject& before, const FakeObject& after) {
  Result<std::shared_ptr<const Json>> old_pod = before.AsJson();
  Result<std::shared_ptr<const Json>> pod = after.AsJson();
  if (!old_pod) return old_pod.error();
  if (!pod) return pod.error();
  std::vector<Cause> problems = PodUpdateProblems(**old_pod, **pod);
  if (problems.empty()) return Ok();
  std::string text;
  for (const Cause& problem : problems)
    text += (text.empty() ? "" : ", ") + problem.field + ": " + problem.message;
  if (problems.size() > 1) text = "[" + text + "]";
  std::string name = StringAt(**pod, "metadata.name");
  return Error::FromHttpStatus(422, "Invalid", "Pod \"" + name + "\" is invalid: " + text)
      .WithCauses(std::move(problems));
}

}  // namespace kube
