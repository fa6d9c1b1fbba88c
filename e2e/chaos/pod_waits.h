// SPDX-License-Identifier: Apache-2.0
// PodWaits: how long pods had a gate of the operator, and which faults there were in that time.
//
//   PodWaits waits;
//   waits.FaultBegins("etcd leader killed", 3s);
//   waits.Saw("uid-1", "ns/web", /*gated=*/true, 4s);
//   waits.Saw("uid-1", "ns/web", /*gated=*/false, 9s);
//   waits.FaultEnds("etcd leader killed", 5s);
//   waits.Of("etcd leader killed").longest;              // 5s
//
// Times are those of the observer: what it sees late, counts as a longer wait.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace e2e {

class PodWaits {
 public:
  // Since the start of the run.
  using Time = std::chrono::milliseconds;

  // A fault has effects after it has ended: a process starts again, a Lease expires.
  static constexpr Time kAftermath = std::chrono::seconds(5);

  struct Summary {
    // Pods that waited for a time in the fault, or in its aftermath.
    size_t pods = 0;
    Time longest{0};
    // "NAMESPACE/NAME" of that pod.
    std::string pod;
  };
  struct Wait {
    std::string pod;
    Time from, to;
  };

  // A kind has at most one fault at a time.
  void FaultBegins(const std::string& kind, Time at);
  void FaultEnds(const std::string& kind, Time at);

  // A state of a pod. A pod that is deleted is not gated.
  void Saw(const std::string& uid, const std::string& pod, bool gated, Time at);

  size_t pods() const { return pods_.size(); }
  // The pods that are gated: uid -> name.
  std::map<std::string, std::string> Waiting() const;
  // The waits that have ended.
  const std::vector<Wait>& waits() const { return waits_; }

  Summary Of(const std::string& kind) const;
  // Those in which there was no fault, and no aftermath of one.
  Summary WithoutFault() const;
  Summary Total() const;

 private:
  struct Fault {
    std::string kind;
    Time begin, end;
  };
  struct Pod {
    std::string name;
    bool gated = false;
    Time since{0};
  };

  static void Count(const Wait& wait, Summary& summary);
  static bool Touches(const Fault& fault, const Wait& wait);

  std::vector<Fault> faults_;
  std::map<std::string, Pod> pods_;  // by uid
  std::vector<Wait> waits_;
};

}  // namespace e2e
