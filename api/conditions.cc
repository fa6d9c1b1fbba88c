// SPDX-License-Identifier: Apache-2.0
#include "api/conditions.h"

#include <algorithm>

#include "kube/base/clock.h"
#include "kube/base/utf8.h"

namespace api {
namespace {

// The CRD's limits.
constexpr size_t kMaxMessage = 32768;
constexpr size_t kMaxReason = 1024;

// ^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$
bool IsReason(std::string_view reason) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto word = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !reason.empty() && reason.size() <= kMaxReason && letter(reason.front()) &&
         word(reason.back()) && std::all_of(reason.begin(), reason.end(), [&](char c) {
           return word(c) || c == ',' || c == ':';
         });
}

}  // namespace

bool SetCondition(std::vector<Condition>& conditions, Condition condition,
                  std::chrono::system_clock::time_point now) {
  if (!IsReason(condition.reason)) condition.reason = "Unknown";
  condition.message.resize(kube::CutUtf8(condition.message, kMaxMessage).size());
  auto at = std::find_if(conditions.begin(), conditions.end(), [&](const Condition& existing) {
    return existing.type == condition.type;
  });
  if (at == conditions.end()) {
    condition.last_transition_time = kube::FormatTime(now);
    conditions.push_back(std::move(condition));
    return true;
  }
  bool same_status = at->status == condition.status && !at->last_transition_time.empty();
  condition.last_transition_time = same_status ? at->last_transition_time : kube::FormatTime(now);
  if (*at == condition) return false;
  *at = std::move(condition);
  return true;
}

}  // namespace api
