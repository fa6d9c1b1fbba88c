// SPDX-License-Identifier: Apache-2.0
#include "fleet/api/manifest_work.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/cluster_pod_placement_config.h"
#include "api/conditions.h"
#include "api/field_error.h"
#include "api/json_reader.h"
#include "api/pod_placement_config.h"
#include "fleet/api/reading.h"
#include "kube/base/clock.h"
#include "kube/base/utf8.h"
#include "kube/types/list_at.h"

namespace fleet {
namespace {

using api::FieldErrors;
using api::JsonReader;
using kube::Json;

constexpr std::string_view kManifestWorkFinalizer =
    "cluster.open-cluster-management.io/manifest-work-cleanup";
constexpr std::string_view kAnnotations = "metadata.annotations";
constexpr std::array<std::string_view, 2> kPropagation = {"Foreground", "Orphan"};
constexpr size_t kMaxListItems = 32;      // conditions, and values, that are read of an object
constexpr size_t kMaxFieldManager = 128;  // the API server's limit

// Conditions of a ManifestWork; its objects have the first one, too.
constexpr std::string_view kApplied = "Applied";
constexpr std::string_view kExists = "Available";

// What the agent reads of each object.
struct Feedback {
  const char* name;
  const char* path;
};
constexpr char kHashRule[] = "hash";
constexpr char kGenerationRule[] = "generation";
constexpr char kAvailableRule[] = "available";
constexpr char kObservedGenerationRule[] = "observedGeneration";
constexpr std::array<Feedback, 4> kFeedback = {{
    {kHashRule, R"(.metadata.annotations.fleet\.multiarch\.openshift\.io/work-hash)"},
    {kGenerationRule, ".metadata.generation"},
    {kAvailableRule, R"(.status.conditions[?(@.type=="Available")].status)"},
    {kObservedGenerationRule, R"(.status.conditions[?(@.type=="Available")].observedGeneration)"},
}};

const kube::Resource& ResourceOfManifest(const Json& object) {
  const kube::Resource& cluster = kube::ResourceOf<api::ClusterPodPlacementConfig>::value;
  if (kube::StringAt(object, "kind") == cluster.kind) return cluster;
  return kube::ResourceOf<api::PodPlacementConfig>::value;
}

// OCM requires this prefix. A very long name is truncated.
std::string FieldManagerOf(std::string_view work) {
  std::string manager = "work-agent-" + std::string(work);
  return std::string(kube::CutUtf8(manager, kMaxFieldManager));
}

Json ManifestOf(const Json& object, const std::string& hash) {
  Json manifest = object;
  manifest["metadata"]["annotations"][std::string(kWorkHashAnnotation)] = hash;
  return manifest;
}

// How the agent applies `object`, and what it reads of it.
Json ConfigOf(const Json& object, std::string_view work, bool adopt) {
  const kube::Resource& resource = ResourceOfManifest(object);
  Json paths = Json::array();
  for (const Feedback& feedback : kFeedback) {
    Json path = {{"name", feedback.name}, {"path", feedback.path}};
    paths.push_back(std::move(path));
  }
  Json rule = {{"type", "JSONPaths"}, {"jsonPaths", std::move(paths)}};
  Json apply = {{"force", adopt}, {"fieldManager", FieldManagerOf(work)}};
  Json config;
  config["resourceIdentifier"] = {{"group", std::string(resource.group)},
                                  {"resource", std::string(resource.plural)},
                                  {"name", kube::StringAt(object, "metadata.name")},
                                  {"namespace", kube::StringAt(object, "metadata.namespace")}};
  config["updateStrategy"] = {{"type", "ServerSideApply"}, {"serverSideApply", std::move(apply)}};
  config["feedbackRules"] = Json::array({std::move(rule)});
  return config;
}

// True if `stored` has every value of `wanted`. The API server may have added defaults.
bool Has(const Json& stored, const Json& wanted) {
  Json patched = stored;
  patched.merge_patch(wanted);
  return patched == stored;
}

// Removes the mark that ManifestOf() added. False: there is none.
bool TakeMark(Json& manifest, const std::string& hash) {
  const Json* marks = kube::Find(manifest, kAnnotations);
  if (marks == nullptr || !marks->is_object()) return false;
  if (MetadataString(manifest, kAnnotations, kWorkHashAnnotation) != hash) return false;
  Json& metadata = manifest["metadata"];
  Json& annotations = metadata["annotations"];
  annotations.erase(std::string(kWorkHashAnnotation));
  if (annotations.empty()) metadata.erase("annotations");
  return true;
}

void ReadAnnotations(const Json& json, PodPlacementWorkSpec& spec, FieldErrors& problems) {
  spec.hash = MetadataString(json, kAnnotations, kWorkHashAnnotation);
  if (spec.hash.empty() || spec.hash.size() > kMaxWorkHash) {
    api::AddProblem(problems, "metadata.annotations." + std::string(kWorkHashAnnotation),
                    "must have 1 to 64 characters");
  }
  if (auto time = kube::ParseTime(MetadataString(json, kAnnotations, kWorkGivenAtAnnotation))) {
    spec.given_at = *time;
  } else {
    api::AddProblem(problems, "metadata.annotations." + std::string(kWorkGivenAtAnnotation),
                    "must be an RFC 3339 time");
  }
}

void ReadManifests(JsonReader& reader, PodPlacementWorkSpec& spec) {
  const Json* workload = reader.Object("workload", api::kRequired);
  if (workload == nullptr) return;
  JsonReader fields(*workload, reader.PathOf("workload"), reader.problems());
  const Json* manifests = fields.Array("manifests", kMaxWorkObjects, api::kRequired);
  for (size_t i = 0; manifests != nullptr && i < manifests->size(); ++i) {
    Json object = (*manifests)[i];
    if (TakeMark(object, spec.hash)) {
      spec.objects.push_back(std::move(object));
    } else {
      fields.Problem("manifests[" + std::to_string(i) + "]",
                     "must have the annotation " + std::string(kWorkHashAnnotation));
    }
  }
}

void ReadConfigs(JsonReader& reader, std::string_view work, PodPlacementWorkSpec& spec) {
  const Json* configs = reader.Array("manifestConfigs", kMaxWorkObjects, api::kRequired);
  if (configs == nullptr) return;
  spec.adopt =
      !configs->empty() && kube::BoolAt(configs->front(), "updateStrategy.serverSideApply.force");
  bool as_written = configs->size() == spec.objects.size();
  for (size_t i = 0; as_written && i < configs->size(); ++i)
    as_written = Has((*configs)[i], ConfigOf(spec.objects[i], work, spec.adopt));
  if (!as_written) reader.Problem("manifestConfigs", "must be as the hub has written them");
}

PodPlacementWorkSpec ReadSpec(const Json& json, std::string_view work, FieldErrors& problems) {
  PodPlacementWorkSpec spec;
  ReadAnnotations(json, spec, problems);
  JsonReader reader(kube::ObjectAt(json, "spec"), "spec", problems);
  ReadManifests(reader, spec);
  ReadConfigs(reader, work, spec);
  if (const Json* option = reader.Object("deleteOption")) {
    JsonReader fields(*option, reader.PathOf("deleteOption"), problems);
    if (fields.Enum("propagationPolicy", kPropagation) == kPropagation[1])
      spec.deletion_policy = DeletionPolicy::kOrphan;
  }
  return spec;
}

// The condition of this type, or null. `holder`: a status, or what it says about one object.
const Json* ConditionOf(const Json& holder, std::string_view type) {
  const Json& conditions = kube::ListAt(holder, "conditions");
  for (size_t i = 0; i < std::min(conditions.size(), kMaxListItems); ++i) {
    if (kube::StringAt(conditions[i], "type") == type) return &conditions[i];
  }
  return nullptr;
}

bool Is(const Json* condition, std::string_view status) {
  return condition != nullptr && kube::StringAt(*condition, "status") == status;
}

// Sets `latest` to the latest transition time, if that is later.
void TakeLatest(const Json& holder, std::optional<kube::WallTime>& latest) {
  const Json& conditions = kube::ListAt(holder, "conditions");
  for (size_t i = 0; i < std::min(conditions.size(), kMaxListItems); ++i) {
    auto time = kube::ParseTime(kube::StringAt(conditions[i], "lastTransitionTime"));
    if (time && (!latest || *time > *latest)) latest = *time;
  }
}

// "PodPlacementConfig ns/web"
std::string NameOf(const std::string& kind, const std::string& ns, const std::string& name) {
  return kind + " " + kube::ObjectKey{ns, name}.ToString();
}

// The fieldValue that the agent has read by the rule, or an empty object.
const Json& ValueOf(const Json& report, std::string_view rule) {
  static const Json kNone = Json::object();
  const Json& values = kube::ListAt(report, "statusFeedback.values");
  for (size_t i = 0; i < std::min(values.size(), kMaxListItems); ++i) {
    if (kube::StringAt(values[i], "name") == rule) return kube::ObjectAt(values[i], "fieldValue");
  }
  return kNone;
}

// Why an object has not succeeded; "" if it has. `report`: what the status says about it.
std::string ProblemOf(const Json& report, const std::string& hash) {
  if (kube::StringAt(ValueOf(report, kHashRule), "string") != hash) return "not applied yet";
  int64_t generation = kube::IntAt(ValueOf(report, kGenerationRule), "integer");
  // The operator need not write the generation.
  int64_t observed = kube::IntAt(ValueOf(report, kObservedGenerationRule), "integer", generation);
  if (observed < generation || kube::StringAt(ValueOf(report, kAvailableRule), "string").empty())
    return "not Available yet";
  return kube::StringAt(ValueOf(report, kAvailableRule), "string") == "True" ? "" : "not Available";
}

// What a status says.
struct Answer {
  WorkPhase phase = WorkPhase::kProgressing;
  std::string message;
};

Answer AnswerOf(const Json& json, const PodPlacementWorkSpec& spec,
                const std::map<std::string, const Json*>& reports) {
  const Json& status = kube::ObjectAt(json, "status");
  const Json* applied = ConditionOf(status, kApplied);
  // A failure of before a change of the spec says nothing about the newest objects.
  bool failed = Is(applied, "False") && kube::IntAt(*applied, "observedGeneration") >=
                                            kube::IntAt(json, "metadata.generation");
  std::string first;
  for (const Json& object : spec.objects) {
    std::string name =
        NameOf(kube::StringAt(object, "kind"), kube::StringAt(object, "metadata.namespace"),
               kube::StringAt(object, "metadata.name"));
    auto found = reports.find(name);
    if (failed) {
      const Json* refused =
          found == reports.end() ? nullptr : ConditionOf(*found->second, kApplied);
      if (!Is(refused, "False")) continue;
      return {WorkPhase::kFailed, name + ": " + kube::StringAt(*refused, "message")};
    }
    std::string problem =
        found == reports.end() ? "not applied yet" : ProblemOf(*found->second, spec.hash);
    if (first.empty() && !problem.empty()) first = name + ": " + problem;
  }
  if (failed) return {WorkPhase::kFailed, kube::StringAt(*applied, "message")};
  if (!first.empty()) return {WorkPhase::kProgressing, first};
  if (!Is(applied, "True") || !Is(ConditionOf(status, kExists), "True"))
    return {WorkPhase::kProgressing, "the cluster has not applied every object"};
  return {WorkPhase::kSucceeded, "Every object is applied and available"};
}

PodPlacementWorkStatus ReadStatus(const Json& json, const PodPlacementWorkSpec& spec) {
  const Json& status = kube::ObjectAt(json, "status");
  if (ConditionOf(status, kApplied) == nullptr) return {};
  std::optional<kube::WallTime> latest;
  TakeLatest(status, latest);
  std::map<std::string, const Json*> reports;
  const Json& manifests = kube::ListAt(status, "resourceStatus.manifests");
  for (size_t i = 0; i < std::min(manifests.size(), kMaxWorkObjects); ++i) {
    const Json& report = manifests[i];
    TakeLatest(report, latest);
    reports.emplace(NameOf(kube::StringAt(report, "resourceMeta.kind"),
                           kube::StringAt(report, "resourceMeta.namespace"),
                           kube::StringAt(report, "resourceMeta.name")),
                    &report);
  }
  Answer answer = AnswerOf(json, spec, reports);
  std::string phase(kWorkPhases[static_cast<size_t>(answer.phase)]);
  api::Condition condition{
      .type = std::string(kSucceededCondition),
      .status = answer.phase == WorkPhase::kSucceeded ? "True" : "False",
      .reason = phase,
      .message = std::string(kube::CutUtf8(answer.message, kMaxFailureMessage))};
  if (latest) condition.last_transition_time = kube::FormatTime(*latest);
  PodPlacementWorkStatus read{.hash = spec.hash, .phase = std::move(phase)};
  read.conditions.push_back(std::move(condition));
  return read;
}

}  // namespace

Json ManifestWorkPolicy(DeletionPolicy policy) {
  std::string propagation(kPropagation[policy == DeletionPolicy::kOrphan]);
  Json option = {{"propagationPolicy", std::move(propagation)}};
  Json patch;
  patch["spec"]["deleteOption"] = std::move(option);
  return patch;
}

size_t ManifestsBytes(const std::vector<Json>& objects) {
  constexpr size_t kEnvelope = 10;  // the webhook counts each manifest in protobuf, around its JSON
  // The API server sends the webhook each of these as "\u003c".
  constexpr std::string_view kEscaped = "<>&";
  constexpr size_t kEscapedBytes = 6;
  const std::string any_hash = HashOf({}, false);  // all have one length
  size_t bytes = 0;
  for (const Json& object : objects) {
    std::string text = kube::DumpJson(ManifestOf(object, any_hash));
    size_t escaped = std::count_if(text.begin(), text.end(),
                                   [&](char c) { return kEscaped.find(c) != kEscaped.npos; });
    bytes += kEnvelope + text.size() + escaped * (kEscapedBytes - 1);
  }
  return bytes;
}

Json ManifestWorkContent(std::string_view name, const PodPlacementWorkSpec& spec) {
  Json manifests = Json::array();
  Json configs = Json::array();
  for (const Json& object : spec.objects) {
    manifests.push_back(ManifestOf(object, spec.hash));
    configs.push_back(ConfigOf(object, name, spec.adopt));
  }
  Json content = ManifestWorkPolicy(spec.deletion_policy);
  content["metadata"]["annotations"] = {
      {std::string(kWorkHashAnnotation), spec.hash},
      {std::string(kWorkGivenAtAnnotation), kube::FormatTime(spec.given_at)}};
  content["spec"]["workload"]["manifests"] = std::move(manifests);
  content["spec"]["manifestConfigs"] = std::move(configs);
  return content;
}

kube::Result<PodPlacementWork> WorkFromManifestWork(const Json& json) {
  if (!json.is_object()) return kube::Error::Invalid("ManifestWork: not a JSON object");
  PodPlacementWork work = WorkWithMetadataOf(json, kManifestWorkFinalizer);
  work.spec = ReadSpec(json, work.name, work.problems);
  if (work.problems.empty()) work.status = ReadStatus(json, work.spec);
  return work;
}

}  // namespace fleet
