// SPDX-License-Identifier: Apache-2.0
#include "fleet/hub/explain.h"

#include <string>
#include <utility>

#include "fleet/hub/debug_answer.h"
#include "fleet/hub/placement_reads.h"

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

Result<Json> Explain(const FleetStore& store, PlacementCel& cel, kube::WallTime now,
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
  if (PlacementReads(subject->spec).whole_object() && !cel.Prepare())
    return Error::Unavailable("CEL cannot be evaluated yet");
  (void)cel.TakeUnanswered();
  Json answer = DebugAnswer(*subject, Schedule(*subject, store.decisions().OwnOf(placement),
                                               store.fleet(), now, cel.selectors(), options));
  if (cel.TakeUnanswered()) return Error::Unavailable("a CEL expression was not evaluated");
  return answer;
}

}  // namespace fleet
