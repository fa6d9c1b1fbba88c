// SPDX-License-Identifier: Apache-2.0
// What fails: programs, API server, registries, clocks, certificates, and what other people break.
#include <algorithm>
#include <chrono>

#include "image-facts/image_facts.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "sim/driver/images.h"
#include "sim/driver/operations.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Json;

using Texts = std::vector<std::string>;

constexpr char kOperator[] = "operator";
// An API server gives a request up after a minute.
constexpr kube::Duration kLongestStore = 55s;
constexpr kube::Duration kLatestPolicies = 25s;

const Texts& Programs() {
  static const auto& names =
      *new Texts{"operator/", "cluster-controller/", "shard/", "webhook/", "policy-webhook/"};
  return names;
}

std::string SomeProgram(Maker& maker) {
  // The policy webhook seldom exists.
  return maker.random().Of(Texts{"operator/", "operator/", "cluster-controller/",
                                 "cluster-controller/", "shard/", "shard/", "webhook/", "webhook/",
                                 "policy-webhook/"});
}

kube::Duration LengthIn(const Json& with) {
  return std::chrono::milliseconds(static_cast<int64_t>(with["for"].get<double>() * 1000));
}

// ---- Programs

std::vector<Parameter> OfProcess(std::vector<Parameter> more = {}) {
  more.push_back({"of", Parameter::kText, Programs()});
  more.push_back({"pick", Parameter::kNumber});
  more.push_back({"leader", Parameter::kYesNo});
  return more;
}

Json SomeProcess(Maker& maker) {
  return {{"of", SomeProgram(maker)},
          {"pick", maker.Number(0, 5)},
          {"leader", maker.random().OnceIn(2)}};
}

Process* ProcessIn(Stage& stage, const Json& with) {
  return stage.Pick(with["of"].get<std::string>(), with["pick"], with["leader"]);
}

void Kill(Stage& stage, const Json& with) {
  Process* process = ProcessIn(stage, with);
  if (process == nullptr) return;
  process->Kill();
  stage.Break(10s, [] {});
}

void Pause(Stage& stage, const Json& with) {
  Process* process = ProcessIn(stage, with);
  if (process == nullptr || process->life() == nullptr) return;
  process->Pause();
  stage.Break(LengthIn(with), [process] { process->Resume(); });
}

void SetClockRate(Stage& stage, const Json& with) {
  Process* process = ProcessIn(stage, with);
  if (process == nullptr || process->life() == nullptr) return;
  // A life is never destroyed.
  Life* life = process->life();
  life->clock().SetRate(with["percent"].get<double>() / 100);
  stage.Change(LengthIn(with), [life] { life->clock().SetRate(1); });
}

void JumpClock(Stage& stage, const Json& with) {
  Process* process = ProcessIn(stage, with);
  if (process == nullptr || process->life() == nullptr) return;
  Life* life = process->life();
  const auto step =
      std::chrono::seconds(with["seconds"].get<int64_t>()) * (with["back"] == true ? -1 : 1);
  life->clock().JumpWall(step);
  stage.Change(LengthIn(with), [life, step] { life->clock().JumpWall(-step); });
}

// ---- API server

Texts FaultKindNames() {
  Texts names;
  for (int kind = 0; kind < kFaultKinds; ++kind)
    names.emplace_back(NameOf(static_cast<FaultKind>(kind)));
  return names;
}

void BeginFault(Stage& stage, const Json& with) {
  Faults& faults = stage.world().faults();
  const int id = faults.Begin({.kind = *FaultKindOf(with["kind"].get<std::string>()),
                               .of = with["of"],
                               .once_in = std::max(1, with["onceIn"].get<int>())});
  stage.Break(LengthIn(with), [&faults, id] { faults.End(id); });
}

void CrashApiServer(Stage& stage, const Json& with) {
  ApiServer& server = stage.world().api_server();
  if (!server.is_up()) return;
  server.Crash();
  if (with["compacts"] == true) stage.world().store().ExpireWatches();
  stage.Break(LengthIn(with), [&server] { server.Start(); });
}

void DelayPods(Stage& stage, const Json& with) {
  Admission& admission = stage.world().admission();
  admission.DelayPods(kLongestStore);
  stage.Break(LengthIn(with), [&admission] { admission.DelayPods({}); });
}

// Nobody can do without policies: gating is not switched before they are in force.
void DelayPolicies(Stage& stage, const Json& with) {
  Admission& admission = stage.world().admission();
  admission.DelayPolicies(kLatestPolicies);
  stage.Change(LengthIn(with), [&admission] { admission.DelayPolicies({}); });
}

// ---- What other people break

struct Broken {
  std::string name;
  // Whether the write is refused.
  bool (*refuses)(const kube::AdmissionAttributes& asked);
};

bool IsPod(const kube::AdmissionAttributes& asked, const char* operation) {
  return asked.collection == kube::kPods.Path() && asked.operation == operation &&
         asked.subresource.empty();
}

bool IsByProgram(const kube::AdmissionAttributes& asked) {
  return asked.caller.user.starts_with("system:serviceaccount:") &&
         !asked.caller.user.starts_with("system:serviceaccount:kube-");
}

bool Places(const kube::AdmissionAttributes& asked) {
  return asked.object->at("spec").value("affinity", Json()) !=
         asked.old_object->at("spec").value("affinity", Json());
}

const std::vector<Broken>& Refusals() {
  static const auto& all = *new std::vector<Broken>{
      {"NewPods", [](const kube::AdmissionAttributes& asked) { return IsPod(asked, "CREATE"); }},
      {"Updates",
       [](const kube::AdmissionAttributes& asked) {
         return IsPod(asked, "UPDATE") && IsByProgram(asked);
       }},
      {"Placements",
       [](const kube::AdmissionAttributes& asked) {
         return IsPod(asked, "UPDATE") && IsByProgram(asked) && Places(asked);
       }},
  };
  return all;
}

Texts RefusalNames() {
  Texts names;
  for (const Broken& one : Refusals()) names.push_back(one.name);
  return names;
}

void RefuseWrites(Stage& stage, const Json& with) {
  for (const Broken& one : Refusals()) {
    if (with["what"] != one.name) continue;
    stage.Refuse(LengthIn(with),
                 [refuses = one.refuses, ns = with["ns"].get<std::string>()](
                     const kube::AdmissionAttributes& asked) -> kube::Result<void> {
                   if (asked.key.ns != ns || !refuses(asked)) return kube::Ok();
                   return Error::FromHttpStatus(
                       403, "Forbidden",
                       "pods \"" + asked.key.name + "\" is forbidden: exceeded quota: of the plan");
                 });
  }
}

// Of which an admin may delete objects.
const std::vector<kube::Resource>& Deletable() {
  static const auto& kinds = *new std::vector<kube::Resource>{
      kube::kDeployments, kube::kServices, kube::kSecrets, kube::kMutatingWebhookConfigurations,
      kube::kValidatingWebhookConfigurations};
  return kinds;
}

bool IsOperand(const Json& object) {
  return kube::ObjectAt(object, "metadata.labels").value("app.kubernetes.io/managed-by", "") ==
         "multiarch-tuning-operator";
}

Texts DeletableNames() {
  Texts names;
  for (const kube::Resource& kind : Deletable()) names.emplace_back(kind.plural);
  return names;
}

void DeleteOperand(Stage& stage, const Json& with) {
  for (const kube::Resource& kind : Deletable()) {
    if (with["kind"] != kind.plural) continue;
    std::vector<Json> objects = stage.world().admin().ListJson(kind);
    std::erase_if(objects, [](const Json& object) {
      // Whoever deletes what the operator's manifests have installs it again.
      return !IsOperand(object) ||
             kube::StringAt(object, "metadata.name").starts_with("multiarch-tuning-operator");
    });
    if (objects.empty()) return;
    const Json& object = objects[with["pick"].get<size_t>() % objects.size()];
    stage.Break(60s, [] {});
    stage.Delete(kind, {kube::StringAt(object, "metadata.namespace"),
                        kube::StringAt(object, "metadata.name")});
  }
}

// Programs can do without: the facts are learned again.
void DeleteImageFacts(Stage& stage, const Json& with) {
  constexpr kube::Resource kFacts = kube::ResourceOf<image_facts::ImageFacts>::value;
  std::vector<Json> objects = stage.world().admin().ListJson(kFacts, kOperator);
  for (size_t i = 0; i < objects.size(); ++i) {
    if (with["all"] == true || i == with["pick"].get<size_t>() % objects.size())
      stage.Delete(kFacts, {kOperator, kube::StringAt(objects[i], "metadata.name")});
  }
}

void Upgrade(Stage& stage, const Json& with) {
  const kube::ObjectKey key{kOperator, "multiarch-tuning-operator"};
  std::optional<Json> own = stage.world().admin().GetJson(kube::kDeployments, key);
  if (!own) return;
  (*own)["spec"]["template"]["spec"]["containers"][0]["image"] =
      "r.io/operator:" + kube::DumpJson(with["version"]);
  stage.NoteUpgrade();
  stage.world().admin().UpdateJson(kube::kDeployments, *own);
}

// ---- Registries

const std::vector<std::pair<std::string, Registries::Mood>>& Moods() {
  static const auto& moods = *new std::vector<std::pair<std::string, Registries::Mood>>{
      {"Refuses", Registries::Mood::kRefuses},
      {"Throttles", Registries::Mood::kThrottles},
      {"Hangs", Registries::Mood::kHangs}};
  return moods;
}

Texts MoodNames() {
  Texts names;
  for (const auto& [name, mood] : Moods()) names.push_back(name);
  return names;
}

void FailRegistry(Stage& stage, const Json& with) {
  for (const auto& [name, mood] : Moods()) {
    if (with["how"] != name) continue;
    const std::string host = with["host"];
    stage.SetMood(host, mood);
    stage.Change(LengthIn(with),
                 [&stage, host] { stage.SetMood(host, Registries::Mood::kAnswers); });
  }
}

void SetImage(Stage& stage, const Json& with) {
  const std::vector<std::string> architectures = with["architectures"];
  stage.SetImage(with["image"], {architectures.begin(), architectures.end()});
}

}  // namespace

std::vector<Operation> FaultOperations() {
  const Parameter length{"for", Parameter::kNumber};
  return {
      {.name = "Kill",
       .weight = 6,
       .is_fault = true,
       .parameters = OfProcess(),
       .make = SomeProcess,
       .apply = Kill},
      {.name = "Pause",
       .weight = 5,
       .is_fault = true,
       .parameters = OfProcess({length}),
       .make =
           [](Maker& maker) {
             Json with = SomeProcess(maker);
             with["for"] = maker.Number(1, 50);
             return with;
           },
       .apply = Pause},
      {.name = "SetClockRate",
       .weight = 2,
       .is_fault = true,
       .parameters = OfProcess({length, {"percent", Parameter::kNumber}}),
       .make =
           [](Maker& maker) {
             Json with = SomeProcess(maker);
             with["for"] = maker.Number(10, 100);
             with["percent"] = maker.Number(95, 105);
             return with;
           },
       .apply = SetClockRate},
      {.name = "JumpClock",
       .weight = 2,
       .is_fault = true,
       .parameters =
           OfProcess({length, {"seconds", Parameter::kNumber}, {"back", Parameter::kYesNo}}),
       .make =
           [](Maker& maker) {
             Json with = SomeProcess(maker);
             with["for"] = maker.Number(10, 100);
             // Certificates of a clock that is ahead are trusted within five minutes.
             const bool back = maker.random().OnceIn(2);
             with["back"] = back;
             with["seconds"] = maker.random().Of(back ? std::vector<int>{1, 30, 600, 7200}
                                                      : std::vector<int>{1, 30, 240});
             return with;
           },
       .apply = JumpClock},
      {.name = "BeginFault",
       .weight = 10,
       .is_fault = true,
       .parameters = {{"kind", Parameter::kText, FaultKindNames()},
                      {"of", Parameter::kText},
                      {"onceIn", Parameter::kNumber},
                      length},
       .make =
           [](Maker& maker) {
             const bool all = maker.random().OnceIn(3);
             return Json{{"kind", maker.random().Of(FaultKindNames())},
                         {"of", all ? "" : SomeProgram(maker)},
                         {"onceIn", maker.Number(1, 6)},
                         {"for", maker.Number(2, 40)}};
           },
       .apply = BeginFault},
      {.name = "CrashApiServer",
       .weight = 2,
       .is_fault = true,
       .parameters = {length, {"compacts", Parameter::kYesNo}},
       .make =
           [](Maker& maker) {
             return Json{{"for", maker.Number(1, 20)}, {"compacts", maker.random().OnceIn(2)}};
           },
       .apply = CrashApiServer},
      {.name = "DelayPods",
       .weight = 2,
       .is_fault = true,
       .parameters = {length},
       .make =
           [](Maker& maker) {
             return Json{{"for", maker.Number(5, 60)}};
           },
       .apply = DelayPods},
      {.name = "DelayPolicies",
       .weight = 2,
       .is_fault = true,
       .parameters = {length},
       .make =
           [](Maker& maker) {
             return Json{{"for", maker.Number(30, 300)}};
           },
       .apply = DelayPolicies},
      {.name = "Compact",
       .weight = 2,
       .is_fault = true,
       .parameters = {},
       .make = [](Maker&) { return Json(Json::object()); },
       .apply =
           [](Stage& stage, const Json&) {
             stage.world().store().ExpireWatches();
             stage.Break(10s, [] {});
           }},
      {.name = "RefuseWrites",
       .weight = 3,
       .is_fault = true,
       .parameters = {{"ns", Parameter::kText, Maker::Namespaces()},
                      {"what", Parameter::kText, RefusalNames()},
                      length},
       .make =
           [](Maker& maker) {
             return Json{{"ns", maker.Namespace()},
                         {"what", maker.random().Of(RefusalNames())},
                         {"for", maker.Number(5, 60)}};
           },
       .apply = RefuseWrites},
      {.name = "DeleteOperand",
       .weight = 3,
       .is_fault = true,
       .parameters = {{"kind", Parameter::kText, DeletableNames()}, {"pick", Parameter::kNumber}},
       .make =
           [](Maker& maker) {
             return Json{{"kind", maker.random().Of(DeletableNames())},
                         {"pick", maker.Number(0, 9)}};
           },
       .apply = DeleteOperand},
      {.name = "DeleteImageFacts",
       .weight = 2,
       .is_fault = true,
       .parameters = {{"pick", Parameter::kNumber}, {"all", Parameter::kYesNo}},
       .make =
           [](Maker& maker) {
             return Json{{"pick", maker.Number(0, 9)}, {"all", maker.random().OnceIn(2)}};
           },
       .apply = DeleteImageFacts},
      {.name = "Upgrade",
       .weight = 1,
       .is_fault = true,
       .parameters = {{"version", Parameter::kNumber}},
       .make =
           [](Maker& maker) {
             return Json{{"version", maker.Number(1, 3)}};
           },
       .apply = Upgrade},
      // At the end of some plans: nothing happens after it.
      {.name = "Uninstall",
       .weight = 0,
       .is_fault = true,
       .parameters = {},
       .make = [](Maker&) { return Json(Json::object()); },
       .apply = [](Stage& stage, const Json&) { stage.Uninstall(); }},
      {.name = "FailRegistry",
       .weight = 4,
       .is_fault = true,
       .parameters = {{"host", Parameter::kText, RegistryHosts()},
                      {"how", Parameter::kText, MoodNames()},
                      length},
       .make =
           [](Maker& maker) {
             return Json{{"host", maker.random().Of(RegistryHosts())},
                         {"how", maker.random().Of(MoodNames())},
                         {"for", maker.Number(5, 120)}};
           },
       .apply = FailRegistry},
      {.name = "SetImage",
       .weight = 4,
       .is_fault = true,
       .parameters = {{"image", Parameter::kText, ImageNames()},
                      {"architectures", Parameter::kTexts, Maker::Architectures()}},
       .make =
           [](Maker& maker) {
             return Json{{"image", maker.Image()},
                         {"architectures", maker.Some(Maker::Architectures(), 2)}};
           },
       .apply = SetImage},
  };
}

}  // namespace sim
