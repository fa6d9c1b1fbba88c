// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/faults.h"

#include <array>
#include <utility>

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Method;

constexpr std::array<std::pair<FaultKind, std::string_view>, kFaultKinds> kNames = {{
    {FaultKind::kSlow, "Slow"},
    {FaultKind::kLostRequests, "LostRequests"},
    {FaultKind::kLostReplies, "LostReplies"},
    {FaultKind::kHalfOpen, "HalfOpen"},
    {FaultKind::kConflicts, "Conflicts"},
    {FaultKind::kExpired, "Expired"},
    {FaultKind::kThrottled, "Throttled"},
    {FaultKind::kServerErrors, "ServerErrors"},
    {FaultKind::kCutWatches, "CutWatches"},
    {FaultKind::kStaleReads, "StaleReads"},
}};

bool IsWrite(const kube::ApiRequest& request) { return request.method != Method::kGet; }

bool IsList(const kube::ApiRequest& request) {
  return request.method == Method::kGet && request.target.find('?') != std::string::npos;
}

}  // namespace

std::string_view NameOf(FaultKind kind) {
  for (const auto& [known, name] : kNames) {
    if (known == kind) return name;
  }
  return "?";
}

kube::Result<FaultKind> FaultKindOf(std::string_view name) {
  for (const auto& [kind, known] : kNames) {
    if (known == name) return kind;
  }
  return Error::Invalid("no kind of fault: " + std::string(name));
}

CallFate Faults::OfCall(std::string_view process, const kube::ApiRequest& request) {
  CallFate fate;
  const kube::Duration longest = Is(FaultKind::kSlow, process) ? kube::Duration(8s) : 4ms;
  fate.there = random_.Between(1ms, longest);
  fate.back = random_.Between(1ms, longest);
  if (Is(FaultKind::kThrottled, process)) {
    fate.refused = Error::FromHttpStatus(429, "TooManyRequests", "too many requests");
  } else if (Is(FaultKind::kServerErrors, process)) {
    bool restarting = random_.OnceIn(2);
    fate.refused = restarting ? Error::FromHttpStatus(503, "ServiceUnavailable", "not ready")
                              : Error::FromHttpStatus(500, "InternalError", "etcd: no leader");
  } else if (IsWrite(request) && Is(FaultKind::kConflicts, process)) {
    fate.refused = Error::FromHttpStatus(409, "Conflict", "the object has been modified");
  } else if (IsList(request) && Is(FaultKind::kExpired, process)) {
    fate.refused = Error::FromHttpStatus(410, "Expired", "too old resource version");
  }
  fate.request_lost = Is(FaultKind::kLostRequests, process);
  fate.reply_lost = Is(FaultKind::kLostReplies, process);
  if (Is(FaultKind::kHalfOpen, process)) {
    fate.silent = true;
    (random_.OnceIn(2) ? fate.request_lost : fate.reply_lost) = true;
  }
  if (!IsWrite(request) && Is(FaultKind::kStaleReads, process)) fate.age = random_.Between(0s, 5s);
  return fate;
}

std::optional<kube::Duration> Faults::OfFrame(std::string_view process) {
  if (Is(FaultKind::kCutWatches, process)) return std::nullopt;
  return random_.Between(0ms, Is(FaultKind::kSlow, process) ? kube::Duration(8s) : 10ms);
}

bool Faults::Is(FaultKind kind, std::string_view process) {
  for (const auto& [number, fault] : active_) {
    if (fault.kind == kind && process.starts_with(fault.of) && random_.OnceIn(fault.once_in))
      return true;
  }
  return false;
}

}  // namespace sim
