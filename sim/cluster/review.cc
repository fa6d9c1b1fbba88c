// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/review.h"

#include <utility>

#include "sim/cluster/webhook_match.h"

namespace sim {

using kube::Json;

Json ReviewOf(const std::string& uid, const kube::AdmissionAttributes& asked, const Json& object) {
  const RequestedResource resource = ResourceIn(asked.collection);
  const Json& written = asked.object ? *asked.object : *asked.old_object;
  Json request = {
      {"uid", uid},
      {"kind",
       {{"group", resource.group},
        {"version", resource.version},
        {"kind", kube::StringAt(written, "kind")}}},
      {"resource",
       {{"group", resource.group}, {"version", resource.version}, {"resource", resource.plural}}},
      {"name", asked.key.name},
      {"operation", asked.operation},
      {"userInfo", {{"username", asked.caller.user}}},
      {"object", object},
      {"oldObject", asked.old_object ? *asked.old_object : Json()},
      {"dryRun", asked.dry_run},
      {"options", {{"fieldManager", asked.field_manager}}}};
  if (!asked.key.ns.empty()) request["namespace"] = asked.key.ns;
  if (!asked.subresource.empty()) request["subResource"] = asked.subresource;
  return {{"kind", "AdmissionReview"},
          {"apiVersion", "admission.k8s.io/v1"},
          {"request", std::move(request)}};
}

}  // namespace sim
