// SPDX-License-Identifier: Apache-2.0
#include "fleet/agent/work_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "kube/base/one_line.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/object_fields.h"

namespace fleet {
namespace {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::Json;
using kube::ObjectKey;
using kube::Ok;
using kube::Outcome;
using kube::Result;
using kube::Unstructured;

std::string Text(const Error& error) { return kube::OneLine(error.message()); }

bool IsIn(const std::vector<WorkObject>& objects, const WorkObject& object) {
  return std::any_of(objects.begin(), objects.end(), [&](const WorkObject& other) {
    return other.resource.kind == object.resource.kind && other.key == object.key;
  });
}

}  // namespace

Async<Outcome> WorkReconciler::Reconcile(kube::Request request) {
  Result<std::optional<Unstructured>> found = co_await Find(request.key);
  if (!found) co_return found.error().Prefix("read the work");
  if (!*found) co_return Outcome::Done();
  const Unstructured& stored = **found;
  Result<PodPlacementWork> work = PodPlacementWork::FromJson(stored.body());
  if (!work) co_return work.error().AsTerminal();
  int64_t generation = kube::IntAt(stored.body(), "metadata.generation");
  if (work->deleting) co_return co_await Remove(*work, stored, request.log);

  // Nothing is applied before the finalizer is there, or the objects could outlive the work. The
  // watch delivers the change and the rest is done then.
  WorkObjects wanted = ObjectsOf(*work);
  if (!wanted.problem && !work->has_finalizer) {
    Result<> set = co_await SetFinalizer(*work, stored, true);
    if (!set) co_return set.error();
    co_return Outcome::Done();
  }

  // Apply.
  std::vector<WorkProblem> problems;
  std::optional<Error> retry;
  if (wanted.problem) {
    problems.push_back(std::move(*wanted.problem));
  } else {
    Result<std::vector<WorkProblem>> applied = co_await Apply(*work, wanted.objects, request.log);
    if (applied) {
      problems = std::move(*applied);
    } else {
      retry = applied.error();
    }
  }

  // Answer. While the cluster cannot be reached, a work that has succeeded keeps this answer.
  if (retry) {
    if (retry->code() == Code::kConflict || work->Phase() == WorkPhase::kSucceeded)
      co_return *retry;
    problems.push_back({std::string(kMemberUnavailable), Text(*retry), false});
  }
  bool failed = std::any_of(problems.begin(), problems.end(),
                            [](const WorkProblem& problem) { return problem.failed; });
  bool deleting = std::any_of(problems.begin(), problems.end(), [](const WorkProblem& problem) {
    return problem.reason == kDeleting;
  });
  Result<> answered = co_await Answer(*work, generation, std::move(problems));
  if (retry) co_return *retry;
  if (!answered) co_return answered.error();
  if (deleting) co_return Outcome::After(kDeletingDelay);
  if (failed) co_return Outcome::After(kLookAgain);
  co_return Outcome::Done();
}

Async<std::optional<Unstructured>> WorkReconciler::Find(ObjectKey key) {
  std::optional<Unstructured> kept = works_.Get(key);
  if (!kept || works_.Complete(key)) co_return kept;
  kube::ListOptions options;
  options.ns = key.ns;
  options.field_selector = "metadata.name=" + key.name;
  Result<kube::TypedList<Unstructured>> list =
      co_await kube::ListObjects(hub_, kPodPlacementWorks, std::move(options));
  if (!list) co_return list.error();
  std::optional<Unstructured> read;
  if (!list->items.empty()) read = std::move(list->items.front());
  co_return read;
}

Async<std::vector<WorkProblem>> WorkReconciler::Apply(const PodPlacementWork& work,
                                                      const std::vector<WorkObject>& wanted,
                                                      const std::string& log) {
  std::vector<WorkProblem> problems;
  std::set<std::string> works = WorkUids();
  for (const WorkObject& object : wanted) {
    Result<std::optional<WorkProblem>> applied = co_await ApplyOne(object, work, works, log);
    if (!applied) co_return applied.error();
    if (*applied) problems.push_back(std::move(**applied));
  }

  // Prune.
  Result<std::optional<WorkProblem>> left = co_await DeleteOwned(work, wanted, log);
  if (!left) co_return left.error();
  if (*left) problems.push_back(std::move(**left));
  co_return problems;
}

Async<std::optional<WorkProblem>> WorkReconciler::ApplyOne(const WorkObject& object,
                                                           const PodPlacementWork& work,
                                                           const std::set<std::string>& works,
                                                           const std::string& log) {
  Result<Unstructured> read = co_await kube::GetObject(member_, object.resource, object.key);
  if (!read && !IsNotFound(read)) {
    if (!kube::FailsAgain(read.error())) co_return read.error().Prefix("read " + object.Name());
    Result<WorkProblem> problem = co_await ProblemOf(read.error(), object);
    if (!problem) co_return problem.error();
    co_return std::move(*problem);
  }
  const Json* stored = read ? &read->body() : nullptr;

  WorkAction action = ActionFor(object, stored, work, works);
  if (action == WorkAction::kConflict) {
    std::string text = ConflictMessage(object, *stored);
    co_return WorkProblem{std::string(kForeignObject), std::move(text)};
  }
  if (action == WorkAction::kNothing) co_return AvailabilityProblem(object, *stored);

  Json body = object.json;
  if (stored != nullptr)
    body["metadata"]["resourceVersion"] = kube::StringAt(*stored, "metadata.resourceVersion");
  kube::ApplyOptions options{.field_manager = std::string(kAgentFieldManager),
                             .force = action == WorkAction::kApply};
  Unstructured desired(std::move(body));
  Result<Unstructured> applied =
      co_await kube::ApplyObject(member_, object.resource, std::move(desired), std::move(options));
  if (!applied && !kube::FailsAgain(applied.error()))
    co_return applied.error().Prefix("apply " + object.Name());
  if (!applied) {
    Result<WorkProblem> problem = co_await ProblemOf(applied.error(), object);
    if (!problem) co_return problem.error();
    co_return std::move(*problem);
  }
  LOG(INFO) << log << " applied " << object.Name();
  if (!Contains(applied->body(), object.json)) {
    std::string text = object.Name() +
                       ": this cluster does not store all fields as given; its "
                       "operator may be older than the hub's";
    co_return WorkProblem{std::string(kNotStored), std::move(text)};
  }
  co_return AvailabilityProblem(object, applied->body());
}

Async<WorkProblem> WorkReconciler::ProblemOf(Error refused, const WorkObject& object) {
  if (refused.code() != Code::kNotFound)
    co_return WorkProblem{std::string(kApplyFailed), object.Name() + ": " + Text(refused)};
  // Either the namespace or the kind does not exist.
  if (object.resource.namespaced) {
    ObjectKey ns{"", object.key.ns};
    Result<Unstructured> read = co_await kube::GetObject(member_, kube::kNamespaces, ns);
    if (IsNotFound(read)) {
      co_return WorkProblem{std::string(kNamespaceNotFound),
                            object.Name() + ": the namespace does not exist"};
    }
    if (!read) co_return read.error().Prefix("read namespace " + ns.name);
  }
  co_return WorkProblem{std::string(kOperatorNotInstalled),
                        "this cluster does not know the kind " + std::string(object.resource.kind)};
}

Async<Outcome> WorkReconciler::Remove(const PodPlacementWork& work, const Unstructured& stored,
                                      const std::string& log) {
  if (!work.has_finalizer) co_return Outcome::Done();
  if (work.spec.deletion_policy == DeletionPolicy::kOrphan) {
    Result<> orphaned = co_await OrphanOwned(work, log);
    if (!orphaned) co_return orphaned.error();
  } else {
    std::vector<WorkObject> none;
    Result<std::optional<WorkProblem>> left = co_await DeleteOwned(work, none, log);
    if (!left) co_return left.error();
    if (*left) {
      std::vector<WorkProblem> waits;
      waits.push_back(std::move(**left));
      int64_t generation = kube::IntAt(stored.body(), "metadata.generation");
      Result<> answered = co_await Answer(work, generation, std::move(waits));
      if (!answered) co_return answered.error();
      co_return Outcome::After(kDeletingDelay);
    }
  }
  Result<> released = co_await SetFinalizer(work, stored, false);
  if (!released && !IsNotFound(released)) co_return released.error();
  co_return Outcome::Done();
}

Async<std::vector<WorkObject>> WorkReconciler::Owned(const kube::Resource& kind, std::string uid,
                                                     const std::vector<WorkObject>& except) {
  std::vector<WorkObject> owned;
  kube::ListOptions options;
  options.label_selector = std::string(kWorkUidLabel) + "=" + uid;
  Result<kube::TypedList<Unstructured>> list =
      co_await kube::ListObjects(member_, kind, std::move(options));
  if (IsNotFound(list)) co_return owned;  // the kind does not exist
  if (!list) co_return list.error().Prefix("list " + std::string(kind.plural));
  for (Unstructured& item : list->items) {
    // The selector is checked again: what is deleted must be this work's.
    if (WorkUidOf(item.body()) != uid) continue;
    WorkObject object{kind, kube::KeyOf(item), item.body()};
    if (!IsIn(except, object)) owned.push_back(std::move(object));
  }
  co_return owned;
}

Async<std::optional<WorkProblem>> WorkReconciler::DeleteOwned(const PodPlacementWork& work,
                                                              const std::vector<WorkObject>& wanted,
                                                              const std::string& log) {
  const std::vector<kube::Resource>& kinds = AppliedKinds();
  for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind) {
    Result<std::vector<WorkObject>> owned = co_await Owned(*kind, work.uid, wanted);
    if (!owned) co_return owned.error();
    for (const WorkObject& object : *owned) {
      Result<> deleted = co_await Delete(object, log);
      if (deleted) continue;
      if (!kube::FailsAgain(deleted.error())) co_return deleted.error();
      co_return WorkProblem{std::string(kDeleting), Text(deleted.error()), false};
    }
    if (owned->empty()) continue;

    // An object may have finalizers: the operator removes its parts in order.
    owned = co_await Owned(*kind, work.uid, wanted);
    if (!owned) co_return owned.error();
    if (owned->empty()) continue;
    std::string text = owned->front().Name() + " is being deleted";
    co_return WorkProblem{std::string(kDeleting), std::move(text), false};
  }
  co_return std::optional<WorkProblem>();
}

Async<> WorkReconciler::OrphanOwned(const PodPlacementWork& work, const std::string& log) {
  const std::vector<WorkObject> none;
  for (const kube::Resource& kind : AppliedKinds()) {
    Result<std::vector<WorkObject>> owned = co_await Owned(kind, work.uid, none);
    if (!owned) co_return owned.error();
    for (const WorkObject& object : *owned) {
      Result<> done = co_await Orphan(object, log);
      if (!done) co_return done.error();
    }
  }
  co_return Ok();
}

Async<> WorkReconciler::Delete(const WorkObject& object, const std::string& log) {
  if (kube::Find(object.json, "metadata.deletionTimestamp") != nullptr) co_return Ok();
  kube::DeleteOptions options{.uid = kube::StringAt(object.json, "metadata.uid")};
  Result<> deleted =
      co_await kube::DeleteObject(member_, object.resource, object.key, std::move(options));
  if (!deleted && !IsNotFound(deleted)) co_return deleted.error().Prefix("delete " + object.Name());
  LOG(INFO) << log << " deleted " << object.Name();
  co_return Ok();
}

Async<> WorkReconciler::Orphan(const WorkObject& object, const std::string& log) {
  Json labels = {{std::string(kWorkUidLabel), nullptr}};
  Json annotations = {{std::string(kWorkAnnotation), nullptr},
                      {std::string(kWorkHashAnnotation), nullptr}};
  Json patch;
  patch["metadata"] = {
      {"labels", labels},
      {"annotations", annotations},
      {"resourceVersion", kube::StringAt(object.json, "metadata.resourceVersion")}};
  Result<Unstructured> patched = co_await kube::PatchObject(member_, object.resource, object.key,
                                                            kube::kMergePatch, std::move(patch));
  if (!patched && !IsNotFound(patched)) co_return patched.error().Prefix("orphan " + object.Name());
  LOG(INFO) << log << " left " << object.Name();
  co_return Ok();
}

Async<> WorkReconciler::SetFinalizer(const PodPlacementWork& work, const Unstructured& stored,
                                     bool present) {
  ObjectKey key{work.ns, work.name};
  Json patch = present ? kube::WithFinalizer(stored.body(), kWorkFinalizer)
                       : kube::WithoutFinalizer(stored.body(), kWorkFinalizer);
  patch["metadata"]["uid"] = work.uid;
  Result<Unstructured> patched = co_await kube::PatchObject(hub_, kPodPlacementWorks, key,
                                                            kube::kMergePatch, std::move(patch));
  if (!patched) co_return patched.error().Prefix("set finalizer on the hub");
  co_return Ok();
}

Async<> WorkReconciler::Answer(const PodPlacementWork& work, int64_t generation,
                               std::vector<WorkProblem> problems) {
  PodPlacementWorkStatus status = AnswerOf(work, generation, problems, clock_.WallNow());
  if (status == work.status) co_return Ok();
  ObjectKey key{work.ns, work.name};
  Json patch;
  patch["metadata"] = {{"uid", work.uid}, {"resourceVersion", work.resource_version}};
  patch["status"] = StatusToJson(status);
  std::string subresource = "status";
  Result<Unstructured> patched = co_await kube::PatchObject(
      hub_, kPodPlacementWorks, key, kube::kMergePatch, std::move(patch), std::move(subresource));
  // A work that is gone needs no answer.
  if (!patched && !IsNotFound(patched)) co_return patched.error().Prefix("answer the hub");
  co_return Ok();
}

std::set<std::string> WorkReconciler::WorkUids() const {
  std::set<std::string> uids;
  works_.ForEach([&](const Unstructured& work) { uids.insert(work.metadata().uid()); });
  return uids;
}

}  // namespace fleet
