// SPDX-License-Identifier: Apache-2.0
#include "exec-format/handler/event_reconciler.h"

#include <glog/logging.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "exec-format/names.h"
#include "kube/base/one_line.h"
#include "kube/client/refusal.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"

namespace exec_format {

using kube::Async;
using kube::Json;
using kube::ObjectKey;
using kube::Outcome;
using kube::Result;
using std::chrono::seconds;

namespace {

kube::core::ObjectReference ReferenceToPod(const Json& pod) {
  kube::core::ObjectReference reference;
  reference.set_api_version(kube::kPods.ApiVersion());
  reference.set_kind(std::string(kube::kPods.kind));
  reference.set_namespace_(kube::StringAt(pod, "metadata.namespace"));
  reference.set_name(kube::StringAt(pod, "metadata.name"));
  reference.set_uid(kube::StringAt(pod, "metadata.uid"));
  reference.set_resource_version(kube::StringAt(pod, "metadata.resourceVersion"));
  return reference;
}

bool HasLabel(const Json& pod) {
  return kube::ObjectAt(pod, "metadata.labels").contains(std::string(kExecFormatErrorLabel));
}

}  // namespace

seconds EventReconciler::AgeOf(const ENoExecEvent& event) const {
  seconds created(event.metadata().creation_timestamp().seconds());
  auto now = std::chrono::floor<seconds>(clock_.WallNow().time_since_epoch());
  // A later time is of a clock that is ahead.
  return std::max(now - created, seconds(0));
}

EventReconciler::Progress EventReconciler::ProgressOf(const ENoExecEvent& event) {
  Progress* progress = progress_.Find(event.metadata().uid());
  return progress == nullptr ? Progress() : *progress;
}

void EventReconciler::Keep(const ENoExecEvent& event, Progress progress) {
  progress_.Put(event.metadata().uid(), progress);
}

void EventReconciler::Log(const std::string& log, const std::string& problem,
                          const kube::Error& error, const std::string& ns) {
  if (!logged_.Allow(ObjectKey{ns, ""}, problem)) return;
  LOG(WARNING) << log << " " << problem << ": " << kube::OneLine(error.ToString());
}

Async<Outcome> EventReconciler::Reconcile(kube::Request request) {
  co_await kube::IgnoreCancellation();
  std::optional<ENoExecEvent> event;
  if (objects_ != nullptr) event = objects_->Get(request.key);
  if (!event || event->metadata().has_deletion_timestamp()) co_return Outcome::Done();
  const seconds age = AgeOf(*event);
  if (WaitsForStatus(*event, age)) co_return Outcome::After(kStatusWithin - age);

  Result<> waited = co_await clock_.SleepUntil(pace_.Take());
  if (!waited) co_return waited.error();
  event.reset();
  if (objects_ != nullptr) event = objects_->Get(request.key);
  if (!event) co_return Outcome::Done();

  Result<Outcome> outcome = co_await Handle(*event, request.log);
  if (outcome || !kube::FailsAgain(outcome.error())) co_return outcome;
  // Such as for a missing right.
  Log(request.log, "cannot handle ENoExecEvents", outcome.error());
  co_return Outcome::After(kRetryRefusedAfter);
}

Async<Outcome> EventReconciler::Handle(const ENoExecEvent& event, const std::string& log) {
  std::optional<Skipped> why = SkippedByAge(event, AgeOf(event));
  if (ProgressOf(event).is_handled) {
    Result<> removed = co_await Remove(event);
    if (!removed) co_return removed.error();
    co_return Outcome::Done();
  }
  PodFinder::Found found;
  if (!why) {
    Result<PodFinder::Found> searched = co_await finder_.Find(event);
    if (!searched) co_return searched.error();
    found = std::move(*searched);
    if (!found.pod) why = found.why;
  }
  if (!why && !pod_events_.HasRoom(kube::StringAt(*found.pod, "metadata.uid")))
    why = Skipped::kTooMany;
  if (why) {
    Result<Outcome> skipped = co_await Skip(event, *why);
    co_return skipped;
  }
  Result<Outcome> told = co_await Tell(event, std::move(*found.pod), log);
  co_return told;
}

Async<Outcome> EventReconciler::Tell(const ENoExecEvent& event, Json pod, const std::string& log) {
  Progress progress = ProgressOf(event);
  Finding finding{.container = ContainerNameOf(pod, event.container_id),
                  .command = event.command,
                  .program = event.program,
                  .node = event.node_name};
  const bool is_behind = finding.container.empty() && !event.container_id.empty();
  if (is_behind && progress.container_tries < kContainerRetries) {
    ++progress.container_tries;
    Keep(event, progress);
    co_return Outcome::After(kContainerRetryAfter);
  }
  Result<std::string> architecture = co_await nodes_.Read(event.node_name);
  if (architecture) finding.architecture = *architecture;
  if (!architecture && !kube::FailsAgain(architecture.error())) co_return architecture.error();
  if (!architecture) Log(log, "cannot read the architecture of nodes", architecture.error());

  const kube::core::ObjectReference about = ReferenceToPod(pod);
  std::optional<FailedContainer> failed =
      FailedContainerOf(pod, finding.container, finding.command);
  if (!HasLabel(pod)) {
    Result<bool> exists = co_await Label(std::move(pod), log);
    // Decided again from the newest pod; an event without the label is better than none.
    if (IsConflict(exists) && ++progress.label_conflicts < kLabelAttempts) {
      Keep(event, progress);
      co_return exists.error();
    }
    if (!exists && !IsConflict(exists)) co_return exists.error();
    if (exists && !*exists) {
      Result<Outcome> skipped = co_await Skip(event, Skipped::kNotMatched);
      co_return skipped;
    }
  }
  events_.Record(about, /*warning=*/true, kReasonExecFormatError, MessageOf(finding));
  pod_events_.Count(about.uid());
  metrics_.handled.Increment();
  if (failed && on_failure_)
    on_failure_({std::move(*failed), about, finding.node}, finding.architecture);
  progress.is_handled = true;
  Keep(event, progress);
  Result<> removed = co_await Remove(event);
  if (!removed) co_return removed.error();
  co_return Outcome::Done();
}

Async<bool> EventReconciler::Label(Json pod, const std::string& log) {
  const ObjectKey key{kube::StringAt(pod, "metadata.namespace"),
                      kube::StringAt(pod, "metadata.name")};
  pod["metadata"]["labels"][std::string(kExecFormatErrorLabel)] = kTrue;
  kube::ApiRequest put{.method = kube::Method::kPut,
                       .target = kube::kPods.Path(key.ns, key.name),
                       .content_type = std::string(kube::kJson),
                       .body = kube::DumpJson(pod)};
  Result<> written = co_await kube::Send(client_, std::move(put));
  if (written) co_return true;
  if (IsNotFound(written)) co_return false;
  if (!kube::FailsAgain(written.error())) co_return written.error();
  Log(log, "cannot label a pod of namespace " + key.ns, written.error(), key.ns);
  co_return true;
}

Async<Outcome> EventReconciler::Skip(const ENoExecEvent& event, Skipped why) {
  Result<> removed = co_await Remove(event);
  if (!removed) co_return removed.error();
  metrics_.skipped(why).Increment();
  co_return Outcome::Done();
}

Async<> EventReconciler::Remove(const ENoExecEvent& event) {
  ObjectKey key = kube::KeyOf(event);
  const std::string context = "delete " + key.ToString();
  kube::DeleteOptions options{.uid = event.metadata().uid()};
  Result<> removed =
      co_await kube::Delete<ENoExecEvent>(client_, std::move(key), std::move(options));
  // A conflict: another object has the name now.
  if (removed || IsNotFound(removed) || IsConflict(removed)) co_return kube::Ok();
  co_return removed.error().Prefix(context);
}

}  // namespace exec_format
