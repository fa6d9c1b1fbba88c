// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/explain.h"

#include <string>
#include <utility>

#include "fleet/hub/debug_answer.h"

namespace fleet {

using kube::Error;
using kube::Json;
using kube::Result;

namespace {

Result<Placement> Simulated(const Json& body, const kube::ObjectKey& key) {
  std::string kind = kube::StringAt(body, "kind", kPlacements.kind);
  std::string version = kube::StringAt(body, "apiVersion", kPlacements.ApiVersion());
  if (kind != kPlacements.kind || version != kPlacements.ApiVersion())
    return Error::Invalid("not a Placement of " + kPlacements.ApiVersion());
  const Json* spec = kube::Find(body, "spec");
  if (spec == nullptr || !spec->is_object()) return Error::Invalid("spec: must be an object");
  Json object = {{"metadata", {{"namespace", key.ns}, {"name", key.name}}}, {"spec", *spec}};
  return Placement::FromJson(object);
}

}  // namespace

Result<Json> Explain(const FleetStore& store, CelSelectors& cel, kube::WallTime now,
                     const ScheduleOptions& options, const kube::ObjectKey& placement,
                     const Json* simulated) {
  if (!store.complete()) return Error::Unavailable("the watches are not complete yet");
  const Placement* subject = store.Find(placement);
  Placement parsed;
  if (simulated != nullptr) {
    Result<Placement> read = Simulated(*simulated, placement);
    if (!read) return read.error();
    parsed = std::move(*read);
    subject = &parsed;
  }
  if (subject == nullptr) return Error::NotFound("there is no Placement " + placement.ToString());
  return DebugAnswer(*subject, Schedule(*subject, store.decisions().OwnOf(placement), store.fleet(),
                                        now, cel, options));
}

}  // namespace fleet
