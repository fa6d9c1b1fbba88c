// SPDX-License-Identifier: Apache-2.0
// Faults: what happens to the calls and watches of each process on the way to the API server.
//
//   Faults faults(random.Fork());
//   int id = faults.Begin({.kind = FaultKind::kLostReplies, .of = "shard/", .once_in = 3});
//   CallFate fate = faults.OfCall("shard/ns-1", request);
//   faults.End(id);
//
// Without a fault, travel takes some milliseconds. Thread: the Loop's.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/client/client.h"
#include "sim/base/random.h"

namespace sim {

enum class FaultKind {
  kSlow,          // calls and frames take up to seconds
  kLostRequests,  // the connection breaks before the API server reads the request
  kLostReplies,   // ... after it has carried the call out
  kHalfOpen,      // no answer and no error, with and without effect
  kConflicts,     // 409 for a write
  kExpired,       // 410 for a list or watch
  kThrottled,     // 429
  kServerErrors,  // 500 and 503
  kCutWatches,    // a watch breaks at a frame
  kStaleReads,    // GET and LIST of any version (resourceVersion=0) are of an older state
};
inline constexpr int kFaultKinds = 10;

// "LostReplies"; the name in a plan.
std::string_view NameOf(FaultKind kind);
// Errors: kInvalid.
kube::Result<FaultKind> FaultKindOf(std::string_view name);

struct Fault {
  FaultKind kind;
  // Processes whose names begin with it; "": all.
  std::string of;
  // Of how many calls or frames one has it. At least 1.
  int once_in = 2;
};

// What happens to one call.
struct CallFate {
  kube::Duration there{}, back{};
  // The API server's answer instead of what it would do.
  std::optional<kube::Error> refused;
  bool request_lost = false;
  bool reply_lost = false;
  // What is lost is not noticed: the call waits until its timeout.
  bool silent = false;
  // How old the state is that a read of any version gets.
  kube::Duration age{};
};

class Faults {
 public:
  explicit Faults(Random random) : random_(random) {}

  // Its number.
  int Begin(Fault fault) {
    active_.emplace(++last_, std::move(fault));
    return last_;
  }
  void End(int fault) { active_.erase(fault); }
  // Of all.
  void End() { active_.clear(); }

  // The answer to a write got lost: its caller does not know that it made this version.
  void AddLostAnswer(uint64_t version) { lost_answers_.insert(version); }
  const std::set<uint64_t>& lost_answers() const { return lost_answers_; }

  CallFate OfCall(std::string_view process, const kube::ApiRequest& request);
  // The time that a frame of a watch travels; nullopt: the watch breaks.
  std::optional<kube::Duration> OfFrame(std::string_view process);

 private:
  // Whether such a fault is due now.
  bool Is(FaultKind kind, std::string_view process);

  Random random_;
  std::map<int, Fault> active_;
  int last_ = 0;
  std::set<uint64_t> lost_answers_;
};

}  // namespace sim
