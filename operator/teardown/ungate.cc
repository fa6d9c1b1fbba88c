// SPDX-License-Identifier: Apache-2.0
#include "operator/teardown/ungate.h"

#include <glog/logging.h>

#include <chrono>
#include <string_view>

#include "api/names.h"
#include "kube/client/typed.h"
#include "placement/gate.h"
#include "watches/gated_pods.h"

namespace operator_ {
namespace {

using kube::Async;
using kube::Code;
using kube::Error;
using kube::Ok;
using kube::Result;
using kube::core::Pod;
using namespace std::chrono_literals;

constexpr int kPage = 250;
// For one step, as other requests wait for the worker.
constexpr size_t kMaxWrites = 250;
constexpr kube::Duration kMaxTime = 5s;
// For one pod in one round.
constexpr int kMaxConflicts = 3;

// Lists are in the order of this key, which is that of the API server's store.
std::string ListKey(const Pod& pod) { return kube::KeyOf(pod).ToString(); }

// Removes `gate` and its label. Returns: false if the pod does not have it.
bool RemoveGate(Pod& pod, const std::string& gate) {
  if (!placement::DropGate(pod, gate)) return false;
  pod.mutable_metadata()->mutable_labels()->erase(gate);
  return true;
}

// Writes `pod` without `gates`. Returns: false if the pod had none of them, or was deleted.
Async<bool> WriteWithout(kube::Client& client, Pod pod, std::vector<std::string> gates) {
  kube::ObjectKey key = kube::KeyOf(pod);
  std::string uid = pod.metadata().uid();
  for (int conflicts = 0;; ++conflicts) {
    bool changed = false;
    for (const std::string& gate : gates) {
      changed |= RemoveGate(pod, gate);
    }
    if (!changed) co_return false;
    Result<> written = co_await kube::Replace(client, pod);
    if (written) co_return true;
    if (IsNotFound(written)) co_return false;
    if (!IsConflict(written) || conflicts == kMaxConflicts) co_return written.error();
    Result<Pod> newest = co_await kube::Get<Pod>(client, key);
    if (IsNotFound(newest)) co_return false;
    if (!newest) co_return newest.error();
    if (newest->metadata().uid() != uid)
      co_return false;  // another pod of that name: for the next round
    pod = std::move(*newest);
  }
}

void NoteFailure(const Pod& pod, const Error& error, UngateRound& round) {
  ++round.failed;
  round.error = error;
  if (round.failed_pods.size() >= kNamedPods) return;
  kube::core::ObjectReference reference;
  reference.set_api_version("v1");
  reference.set_kind("Pod");
  reference.set_namespace_(pod.metadata().namespace_());
  reference.set_name(pod.metadata().name());
  reference.set_uid(pod.metadata().uid());
  round.failed_pods.push_back(std::move(reference));
}

// For texts of policy engines, which must not forge log lines or fill a status.
std::string OneLine(std::string_view text) {
  constexpr size_t kMaxLength = 300;
  std::string line;
  for (unsigned char c : text.substr(0, kMaxLength))
    line += c < 0x20 ? ' ' : c < 0x7f ? static_cast<char>(c) : '?';
  return line;
}

}  // namespace

std::optional<std::vector<std::string>> BothGates(const Pod& pod) {
  if (!placement::HasGate(pod, api::kClusterGate) && !placement::HasGate(pod, api::kLocalGate))
    return std::nullopt;
  return std::vector<std::string>{std::string(api::kClusterGate), std::string(api::kLocalGate)};
}

Async<bool> UngateStep(kube::Client& client, kube::Clock& clock, std::string ns, ChooseGates choose,
                       UngateRound& round, const std::string& log) {
  kube::TimePoint end = clock.Now() + kMaxTime;
  size_t writes = 0;
  // A page is bounded in bytes, and one pod is decoded at a time: tenants may create pods of the
  // maximum size.
  kube::ListOptions options{
      .ns = std::move(ns), .field_selector = watches::kUnscheduledPods, .limit = kPage};
  kube::ListPages pages(client, kube::ResourceOf<Pod>::value, std::move(options), /*protobuf=*/true,
                        round.page);
  while (true) {
    Result<kube::RawList> page = co_await pages.Next();
    // The resourceVersion of the round has expired: the next round lists the remaining pods.
    if (FailedWith(page, Code::kExpired) && !round.page.empty()) {
      round.expired = true;
      co_return true;
    }
    if (!page) co_return page.error().Prefix("list the unscheduled pods");
    for (const std::string& item : page->items) {
      Result<Pod> pod = kube::DecodeBare<Pod>(item);
      if (!pod) co_return pod.error();
      std::string key = ListKey(*pod);
      if (key <= round.last) continue;
      if (writes >= kMaxWrites || (writes > 0 && clock.Now() >= end)) co_return false;
      round.last = key;
      std::optional<std::vector<std::string>> gates = choose(*pod);
      if (!gates) continue;
      ++round.gated;
      if (gates->empty()) {
        ++round.kept;
        continue;
      }
      ++writes;
      Result<bool> written = co_await WriteWithout(client, *pod, std::move(*gates));
      if (FailedWith(written, Code::kCancelled)) co_return written.error();
      if (!written) {
        NoteFailure(*pod, written.error(), round);
        continue;
      }
      ++round.ungated;
      LOG_IF(INFO, *written) << log << " pod=" << key << " ungated";
    }
    round.page = pages.continue_token();
    if (round.page.empty()) co_return true;
  }
}

Async<UngateRound> UngateAll(kube::Client& client, kube::Clock& clock, int rounds,
                             kube::Duration interval, kube::TimePoint deadline) {
  const std::string log = "teardown:";
  while (true) {
    UngateRound round;
    bool complete = false;
    while (!complete) {
      std::string everywhere;
      ChooseGates both = BothGates;
      Result<bool> step =
          co_await UngateStep(client, clock, std::move(everywhere), std::move(both), round, log);
      if (!step) co_return step.error();
      complete = *step || clock.Now() >= deadline;
    }
    if (round.found_none() || --rounds <= 0 || clock.Now() >= deadline) co_return round;
    Result<> slept = co_await clock.Sleep(interval);
    if (!slept) co_return slept.error();
  }
}

std::string DescribeFailures(const UngateRound& round) {
  if (round.failed == 0) return "";
  std::string text = std::to_string(round.failed) + " of " + std::to_string(round.gated) +
                     " pods could not be ungated: ";
  for (const kube::core::ObjectReference& pod : round.failed_pods) {
    if (&pod != &round.failed_pods.front()) text += ", ";
    text += pod.namespace_() + "/" + pod.name();
  }
  if (round.failed > round.failed_pods.size()) text += ", ...";
  if (round.error) text += " (" + OneLine(round.error->ToString()) + ")";
  return text;
}

}  // namespace operator_
