// SPDX-License-Identifier: Apache-2.0
#include "exec-format/operator/monitor_reconciler.h"

#include <glog/logging.h>

#include <utility>

#include "exec-format/e_no_exec_event.h"
#include "exec-format/names.h"
#include "exec-format/operator/monitor_objects.h"
#include "kube/client/typed.h"
#include "kube/codec/codec.h"
#include "kube/types/kinds.h"
#include "kube/types/list_at.h"
#include "operator/status/observe.h"
#include "operator/status/problem.h"
#include "operator/status/rollout.h"

namespace exec_format {

using kube::Async;
using kube::Json;
using kube::Outcome;
using kube::Result;
using operator_::DesiredObject;
using operator_::Problem;

namespace {

const kube::ObjectKey kDaemonSet{std::string(kMonitorNamespace), std::string(kMonitorName)};

}  // namespace

MonitorReconciler::MonitorReconciler(kube::Client& client, const operator_::OperandOptions& options,
                                     const operator_::ConfigStore& configs,
                                     operator_::OperandStore& store, const MonitorMetrics& metrics)
    : client_(client), options_(options), configs_(configs), store_(store), metrics_(metrics) {}

bool MonitorReconciler::Left() const { return store_.HasAny(MonitorObjects(options_)); }

Async<Outcome> MonitorReconciler::Reconcile(kube::Request request) {
  std::optional<api::ClusterPodPlacementConfig> config = configs_.Cluster();
  bool wanted = config && !config->metadata().has_deletion_timestamp() &&
                config->WantsExecFormatErrorMonitor();
  if (!wanted) co_return co_await Remove(request.log);
  removing_ = false;
  Result<bool> complete = co_await Serve(request.log);
  if (complete) co_return Outcome::After(*complete ? kThen : kWhileRollingOut);
  if (std::optional<Problem> problem = operator_::ProblemOf(complete.error()))
    Report(State{.status = false, .reason = problem->reason, .message = problem->message});
  co_return complete.error();
}

Async<bool> MonitorReconciler::Serve(const std::string& log) {
  if (options_.monitor_image.empty()) {
    Report(State{.status = false,
                 .reason = "NoImage",
                 .message = "the operator has no --monitor-image: apply its manifests again"});
    co_return false;
  }
  Result<bool> ready = co_await NamespaceIsReady();
  if (!ready || !*ready) co_return ready;
  operator_::DesiredObjects objects = MonitorObjects(options_);
  for (DesiredObject& object : objects) {
    Result<> ensured = co_await store_.Ensure(std::move(object), log);
    if (!ensured) co_return ensured.error();
  }
  Result<kube::Unstructured> found =
      co_await kube::GetObject(client_, kube::kDaemonSets, kDaemonSet);
  if (IsNotFound(found)) {
    store_.Forget(kube::kDaemonSets, kDaemonSet);
    co_return false;
  }
  if (!found) co_return found.error();
  MonitorRollout rollout = MonitorRolloutOf(found->body());
  std::vector<std::string> reasons;
  if (rollout.available < rollout.nodes) {
    Result<std::vector<std::string>> read = co_await Reasons();
    if (!read) co_return read.error();
    reasons = std::move(*read);
  }
  metrics_.missing.Set(static_cast<double>(rollout.nodes - rollout.available));
  Report(StateOf(rollout, reasons));
  co_return rollout.complete();
}

// The plugin may have been off a moment ago.
Async<bool> MonitorReconciler::NamespaceIsReady() {
  kube::ObjectKey key{"", kDaemonSet.ns};
  Result<kube::Unstructured> found = co_await kube::GetObject(client_, kube::kNamespaces, key);
  if (IsNotFound(found)) {
    store_.Forget(kube::kNamespaces, key);
    store_.Forget(kube::kDaemonSets, kDaemonSet);
    co_return true;
  }
  if (!found) co_return found.error();
  co_return !found->metadata().has_deletion_timestamp();
}

Async<std::vector<std::string>> MonitorReconciler::Reasons() {
  kube::ListOptions of_monitors{.ns = kDaemonSet.ns,
                                .label_selector = operator_::PodsOf(kMonitorName)};
  Result<std::vector<kube::Unstructured>> pods =
      co_await ReadSome(kube::kPods, std::move(of_monitors));
  if (!pods) co_return pods.error();
  kube::ListOptions not_monitored{.ns = kDaemonSet.ns,
                                  .field_selector = "reason=" + std::string(kReasonNotMonitored)};
  Result<std::vector<kube::Unstructured>> events =
      co_await ReadSome(kube::kEvents, std::move(not_monitored));
  if (!events) co_return events.error();
  std::vector<std::string> reasons = ReasonsOf(*events, *pods);
  if (reasons.empty()) {
    if (std::optional<Problem> problem = operator_::ProblemOfPods(*pods))
      reasons.push_back(problem->reason + ": " + problem->message);
  }
  co_return reasons;
}

Async<std::vector<kube::Unstructured>> MonitorReconciler::ReadSome(kube::Resource resource,
                                                                   kube::ListOptions which) {
  kube::ApiRequest request{.target = kube::ListTarget(resource, which)};
  kube::AddQuery(request.target, "limit", std::to_string(kMaxRead));
  Result<kube::Unstructured> list =
      co_await kube::CallFor<kube::Unstructured>(client_, std::move(request));
  if (!list) co_return list.error();
  std::vector<kube::Unstructured> objects;
  for (const Json& item : kube::ListAt(list->body(), "items")) objects.emplace_back(item);
  co_return objects;
}

Async<Outcome> MonitorReconciler::Remove(const std::string& log) {
  metrics_.missing.Set(0);
  Report(std::nullopt);
  if (!Left()) {
    bool removed = std::exchange(removing_, false);
    if (removed && on_removed_) on_removed_();
    co_return Outcome::Done();
  }
  if (!std::exchange(removing_, true))
    LOG(INFO) << log << " removing the monitors of exec format errors";
  // The namespace and the ServiceAccount last: the ServiceAccount shows that the removal is not
  // complete.
  std::vector<operator_::ObjectId> objects = operator_::InOrderOfRemoval(MonitorObjects(options_));
  std::swap(objects.back(), objects[objects.size() - 2]);
  for (const operator_::ObjectId& object : objects) {
    Result<> removed = co_await store_.Remove(object.resource, object.key, log);
    // An operator whose ClusterRole does not allow it has created none.
    if (!removed && !FailedWith(removed, kube::Code::kPermissionDenied)) co_return removed.error();
  }
  Result<> deleted = co_await DeleteFindings();
  if (!deleted) co_return deleted.error();
  // The watch will show shortly that the objects are gone.
  co_return Outcome::After(kWhileRollingOut);
}

// The monitors may write no more: their rights are gone.
Async<> MonitorReconciler::DeleteFindings() {
  constexpr kube::Resource kFindings = kube::ResourceOf<ENoExecEvent>::value;
  kube::ListOptions options{.ns = options_.ns};
  auto left = co_await kube::ListObjects(client_, kFindings, std::move(options));
  // The manifests are those of an older version.
  if (IsNotFound(left) || FailedWith(left, kube::Code::kPermissionDenied)) co_return kube::Ok();
  if (!left) co_return left.error();
  for (const kube::Unstructured& finding : left->items) {
    Result<> deleted = co_await kube::DeleteObject(client_, kFindings, kube::KeyOf(finding));
    if (!deleted && !IsNotFound(deleted)) co_return deleted.error();
  }
  co_return kube::Ok();
}

void MonitorReconciler::Report(std::optional<State> state) {
  bool changed = !known_ || state != state_;
  known_ = true;
  state_ = std::move(state);
  if (changed && on_reported_) on_reported_();
}

}  // namespace exec_format
