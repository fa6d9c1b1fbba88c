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

kube::Async<Json> Explain(const FleetStore& store, PlacementCel& cel, const kube::Clock& clock,
                          ScheduleOptions options, kube::ObjectKey placement,
                          std::optional<Json> simulated) {
  Placement parsed;
  if (simulated) {
    Result<Placement> read = Simulated(*simulated, placement);
    if (!read) co_return read.error();
    parsed = std::move(*read);
  }
  for (int passes = 0; passes < kMaxCelPasses; ++passes) {
    if (!store.complete()) co_return Error::Unavailable("the watches are not complete yet");
    const Placement* subject = simulated ? &parsed : store.Find(placement);
    if (subject == nullptr)
      co_return Error::NotFound("there is no Placement " + placement.ToString());
    if (PlacementReads(subject->spec).whole_object() && !cel.Prepare()) break;
    Scheduled result = Schedule(*subject, store.decisions().OwnOf(placement), store.fleet(),
                                clock.WallNow(), cel.Begin(placement.ns), options);
    std::string refusal = cel.TakeRefusal();
    if (!refusal.empty()) co_return Error::Unavailable(std::move(refusal));
    cel::Questions questions = cel.TakeQuestions();
    if (questions.empty()) co_return DebugAnswer(*subject, result);
    Result<kube::Duration> wait = co_await cel.Answer(std::move(questions));
    if (!wait) co_return wait.error();
    if (*wait > kube::Duration::zero()) {
      co_return Error::Unavailable(
          "the namespace is being evaluated, or has used up its time for CEL; retry later");
    }
  }
  co_return Error::Unavailable("CEL cannot be evaluated yet");
}

}  // namespace fleet
