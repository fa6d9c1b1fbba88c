// SPDX-License-Identifier: Apache-2.0
#include "plugin/simulate/subjects.h"

#include <simdjson.h>

#include <optional>
#include <utility>

#include "kube/codec/yaml.h"
#include "kube/types/list_at.h"
#include "webhook/pod_from_json.h"

namespace plugin {
namespace {

using kube::Error;
using kube::Json;
using kube::Result;

constexpr char kConfigKind[] = "PodPlacementConfig";

// By the webhook's reader: what placement reads of a pod.
kube::core::Pod PodOf(const Json& pod, const std::string& ns) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  if (parser.parse(kube::DumpJson(pod)).get(element) != simdjson::SUCCESS) return {};
  return webhook::PodFromJson(element, ns).pod;
}

const Json* TemplateOf(const Json& object) {
  for (const char* path : {"spec.template", "spec.jobTemplate.spec.template"}) {
    const Json* found = kube::Find(object, path);
    if (found != nullptr && found->is_object() && found->contains("spec")) return found;
  }
  return nullptr;
}

Result<> Add(const Json& object, const std::string& default_namespace, Manifests& manifests) {
  const std::string kind = kube::StringAt(object, "kind");
  if (kind.empty()) return Error::Invalid("an object has no kind");
  for (const Json& item : kube::ListAt(object, "items")) {
    Result<> added = Add(item, default_namespace, manifests);
    if (!added) return added;
  }
  if (kind.ends_with("List")) return kube::Ok();
  if (kind == kConfigKind) {
    Json named = object;
    Json& metadata = named["metadata"];
    if (!metadata.is_object()) return Error::Invalid("a PodPlacementConfig has no metadata");
    if (kube::StringAt(metadata, "namespace").empty()) metadata["namespace"] = default_namespace;
    Result<api::PodPlacementConfig> config = api::PodPlacementConfig::FromJson(std::move(named));
    if (!config) return config.error();
    if (!config->problems.empty())
      return Error::Invalid("PodPlacementConfig " + config->metadata().name() + ": " +
                            api::Describe(config->problems));
    manifests.configs.push_back(std::move(*config));
  } else if (std::optional<Subject> subject = SubjectOf(object, default_namespace)) {
    manifests.subjects.push_back(std::move(*subject));
  } else {
    manifests.others.push_back(kind + " " + kube::StringAt(object, "metadata.name"));
  }
  return kube::Ok();
}

}  // namespace

std::optional<Subject> SubjectOf(const Json& object, const std::string& default_namespace) {
  Subject subject{.kind = kube::StringAt(object, "kind")};
  const Json* pod = subject.kind == "Pod" ? &object : TemplateOf(object);
  if (pod == nullptr) return std::nullopt;
  const std::string ns = kube::StringAt(object, "metadata.namespace", default_namespace);
  subject.pod = PodOf(*pod, ns);
  kube::meta::ObjectMeta& metadata = *subject.pod.mutable_metadata();
  std::string name = kube::StringAt(object, "metadata.name");
  if (name.empty()) name = kube::StringAt(object, "metadata.generateName");
  metadata.set_name(name);
  metadata.set_namespace_(ns);
  if (subject.pod.spec().service_account_name().empty())
    subject.pod.mutable_spec()->set_service_account_name("default");
  // What the controller of the workload adds, and the operator looks at.
  if (subject.kind == "DaemonSet") {
    kube::meta::OwnerReference& owner = *metadata.add_owner_references();
    owner.set_api_version("apps/v1");
    owner.set_kind(subject.kind);
    owner.set_name(name);
    owner.set_controller(true);
  }
  return subject;
}

Result<Manifests> ReadManifests(const std::string& text, const std::string& default_namespace) {
  Result<std::vector<Json>> documents = kube::ParseYamlDocuments(text);
  if (!documents) return documents.error();
  Manifests manifests;
  for (const Json& document : *documents) {
    Result<> added = Add(document, default_namespace, manifests);
    if (!added) return added.error();
  }
  if (manifests.subjects.empty() && manifests.configs.empty())
    return Error::Invalid("no pod, no workload and no PodPlacementConfig is in the file");
  return manifests;
}

}  // namespace plugin
