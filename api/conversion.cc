// SPDX-License-Identifier: Apache-2.0
#include "api/conversion.h"

#include "api/cluster_pod_placement_config.h"
#include "api/names.h"

namespace api {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

constexpr std::string_view kV1alpha1 = "multiarch.openshift.io/v1alpha1";
constexpr std::string_view kV1beta1 = "multiarch.openshift.io/v1beta1";
constexpr std::string_view kFallbackField = "fallbackArchitecture";

bool InBothVersions(const std::string& spec_field) {
  return spec_field == "logVerbosity" || spec_field == "namespaceSelector";
}

// The metadata.annotations of `object`; nullptr where there are none.
Json* AnnotationsOf(Json& object) {
  auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return nullptr;
  auto annotations = metadata->find("annotations");
  return annotations == metadata->end() || !annotations->is_object() ? nullptr : &*annotations;
}

// Removes the annotation `key` from `object`. Returns its value, null if it was absent.
Json TakeAnnotation(Json& object, std::string_view key) {
  Json* annotations = AnnotationsOf(object);
  if (annotations == nullptr) return nullptr;
  auto found = annotations->find(std::string(key));
  if (found == annotations->end()) return nullptr;
  Json value = std::move(*found);
  annotations->erase(found);
  if (annotations->empty()) object["metadata"].erase("annotations");
  return value;
}

void SetAnnotation(Json& object, std::string_view key, Json value) {
  Json& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = Json::object();
  Json& annotations = metadata["annotations"];
  if (!annotations.is_object()) annotations = Json::object();
  annotations[std::string(key)] = std::move(value);
}

// Moves the fields that v1alpha1 does not have into annotations.
void HideNewFields(Json& object) {
  // The field counts, not an annotation that was written on a v1beta1 object.
  TakeAnnotation(object, kFallbackArchitectureAnnotation);
  auto spec = object.find("spec");
  if (spec == object.end() || !spec->is_object()) return;
  if (std::string architecture = kube::StringAt(*spec, kFallbackField); !architecture.empty()) {
    spec->erase(std::string(kFallbackField));
    SetAnnotation(object, kFallbackArchitectureAnnotation, std::move(architecture));
    spec = object.find("spec");
  }
  Json hidden = Json::object();
  for (auto field = spec->begin(); field != spec->end();) {
    if (InBothVersions(field.key())) {
      ++field;
    } else {
      hidden[field.key()] = std::move(*field);
      field = spec->erase(field);
    }
  }
  if (hidden.empty()) return;
  SetAnnotation(object, kV1beta1SpecAnnotation, kube::DumpJson(hidden));
}

// Moves them back. Users may have edited the annotations: refuses those without a valid spec.
Result<void> RestoreNewFields(Json& object) {
  Json hidden = TakeAnnotation(object, kV1beta1SpecAnnotation);
  Json architecture = TakeAnnotation(object, kFallbackArchitectureAnnotation);
  if (hidden.is_null() && architecture.is_null()) return kube::Ok();
  Json fields = Json::object();
  if (!hidden.is_null()) {
    Error refused = Error::Invalid("annotation " + std::string(kV1beta1SpecAnnotation) +
                                   " does not contain a valid spec");
    if (!hidden.is_string()) return refused;
    Result<Json> parsed = kube::ParseJson(hidden.get_ref<const std::string&>());
    if (!parsed || !parsed->is_object()) return refused;
    fields = std::move(*parsed);
  }
  if (!architecture.is_null()) fields[std::string(kFallbackField)] = std::move(architecture);

  Json& spec = object["spec"];
  if (!spec.is_object()) spec = Json::object();
  for (auto& [name, value] : fields.items()) {
    if (!InBothVersions(name)) spec[name] = std::move(value);
  }
  Result<ClusterPodPlacementConfig> config = ClusterPodPlacementConfig::FromJson({{"spec", spec}});
  if (!config) return config.error();
  if (!config->problems.empty()) {
    return Error::Invalid(
        Describe(config->problems) + ": the annotations " + std::string(kV1beta1SpecAnnotation) +
        " and " + std::string(kFallbackArchitectureAnnotation) + " do not contain a valid spec");
  }
  return kube::Ok();
}

}  // namespace

Result<Json> ConvertClusterPodPlacementConfig(Json object, std::string_view api_version) {
  std::string from = kube::StringAt(object, "apiVersion");
  if (kube::StringAt(object, "kind") != "ClusterPodPlacementConfig" ||
      (from != kV1alpha1 && from != kV1beta1)) {
    return Error::Invalid("cannot convert " + kube::StringAt(object, "kind") + " from " + from);
  }
  if (api_version != kV1alpha1 && api_version != kV1beta1) {
    return Error::Invalid("cannot convert to " + std::string(api_version));
  }
  if (from == api_version) return object;
  if (api_version == kV1alpha1) {
    HideNewFields(object);
  } else if (Result<void> restored = RestoreNewFields(object); !restored) {
    return restored.error();
  }
  object["apiVersion"] = std::string(api_version);
  return object;
}

Result<Json> AnswerConversionReview(const Json& review) {
  std::string uid = kube::StringAt(review, "request.uid");
  const Json* objects = kube::Find(review, "request.objects");
  if (kube::StringAt(review, "kind") != "ConversionReview" || uid.empty() || objects == nullptr ||
      !objects->is_array()) {
    return Error::Invalid("not a ConversionReview");
  }
  std::string api_version = kube::StringAt(review, "request.desiredAPIVersion");
  Json converted = Json::array();
  Json result = {{"status", "Success"}};
  for (const Json& object : *objects) {
    Result<Json> answer = ConvertClusterPodPlacementConfig(object, api_version);
    if (answer) {
      converted.push_back(std::move(*answer));
      continue;
    }
    std::string name = kube::StringAt(object, "metadata.name");
    result = {{"status", "Failure"}, {"message", answer.error().Prefix(name).message()}};
    converted = Json::array();
    break;
  }
  return Json{
      {"apiVersion", "apiextensions.k8s.io/v1"},
      {"kind", "ConversionReview"},
      {"response",
       {{"uid", uid}, {"convertedObjects", std::move(converted)}, {"result", std::move(result)}}}};
}

}  // namespace api
