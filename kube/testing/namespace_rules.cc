// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/namespace_rules.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "kube/types/kinds.h"
#include "kube/types/unstructured.h"

namespace kube {
namespace {

constexpr char kNameLabel[] = "kubernetes.io/metadata.name";

bool IsTerminating(const FakeObject& ns) {
  Result<std::shared_ptr<const Json>> json = ns.AsJson();
  return json && StringAt(**json, "status.phase") == "Terminating";
}

}  // namespace

Result<void> CheckNamespaceOf(const FakeCall& call, const FakeWrite& write,
                              const std::optional<FakeObject>& ns) {
  const FakeTarget& target = call.target;
  if (target.key.ns.empty() || !write.after) return Ok();
  if (!ns) {
    return Error::FromHttpStatus(404, "NotFound", "namespaces \"" + target.key.ns + "\" not found");
  }
  if (write.before || !IsTerminating(*ns)) return Ok();
  std::string subject = target.collection.substr(target.collection.rfind('/') + 1);
  std::string name = write.after->metadata().name();
  if (!name.empty()) subject += " \"" + name + "\"";
  return Error::FromHttpStatus(403, "Forbidden",
                               subject +
                                   " is forbidden: unable to create new content in namespace " +
                                   target.key.ns + " because it is being terminated")
      .WithCauses({{"NamespaceTerminating", "namespace " + target.key.ns + " is being terminated",
                    "metadata.namespace"}});
}

Result<FakeObject> NewNamespace(const FakeObject& ns) {
  Result<std::shared_ptr<const Json>> json = ns.AsJson();
  if (!json) return json.error();
  Json made = **json;
  made["metadata"]["labels"][kNameLabel] = StringAt(made, "metadata.name");
  made["spec"]["finalizers"] = Json::array({"kubernetes"});
  made["status"] = {{"phase", "Active"}};
  return ns.WithJson(std::move(made));
}

Result<FakeObject> WithFinalizersOf(const FakeObject& ns, const FakeObject& before) {
  Result<std::shared_ptr<const Json>> json = ns.AsJson();
  Result<std::shared_ptr<const Json>> stored = before.AsJson();
  if (!json) return json.error();
  if (!stored) return stored.error();
  const Json* finalizers = Find(**stored, "spec.finalizers");
  if (finalizers == nullptr) return ns;
  Json made = **json;
  made["spec"]["finalizers"] = *finalizers;
  return ns.WithJson(std::move(made));
}

Result<FakeObject> TerminatingNamespace(const FakeObject& ns, WallTime now) {
  FakeObject deleted = ns;
  meta::ObjectMeta meta = deleted.metadata();
  meta.mutable_deletion_timestamp()->set_seconds(std::chrono::system_clock::to_time_t(now));
  deleted.SetMetadata(meta);
  Result<std::shared_ptr<const Json>> json = deleted.AsJson();
  if (!json) return json.error();
  Json made = **json;
  made["status"]["phase"] = "Terminating";
  return deleted.WithJson(std::move(made));
}

bool IsFinalized(const FakeObject& ns) {
  Result<std::shared_ptr<const Json>> json = ns.AsJson();
  const Json* finalizers = json ? Find(**json, "spec.finalizers") : nullptr;
  return finalizers == nullptr || finalizers->empty();
}

}  // namespace kube
