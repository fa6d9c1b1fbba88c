// SPDX-License-Identifier: Apache-2.0
// TestRun: a hand-made history for tests of the checker. Keeps the objects, so that each write is a
// commit with what was there before, and writes pods as the documents say a program does; a test
// changes one thing and expects the violation.
//
//   TestRun run;                                    // namespace shop, ClusterPodPlacementConfig
//   Json pod = run.CreatePod("web");            // gated by admission
//   run.Write(kClusterController, Placed(pod, {"amd64", "arm64"}));
//   EXPECT_THAT(run.Found(), ElementsAre());
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/checker/checker.h"

namespace sim::checker {

inline constexpr char kOperatorUser[] =
    "system:serviceaccount:openshift-multiarch-tuning-operator:multiarch-tuning-operator";
inline constexpr char kController[] =
    "system:serviceaccount:openshift-multiarch-tuning-operator:pod-placement-controller";
inline constexpr char kShardOfShop[] = "system:serviceaccount:shop:pod-placement-shard-controller";
inline constexpr char kUser[] = "alice";
// An image for amd64 and arm64.
inline constexpr char kImage[] = "r.io/app:1";

class TestRun {
 public:
  // With the namespace shop, a ClusterPodPlacementConfig, and kImage; a minute later.
  TestRun();
  TestRun(const TestRun&) = delete;
  TestRun& operator=(const TestRun&) = delete;

  // What the checker has found, each rule as often as it was broken.
  std::vector<std::string> Found() const;
  // For the message of a failed expectation.
  std::string Described() const;

  void Advance(Time time) { now_ += time; }
  Time now() const { return now_; }
  Facts& facts() { return facts_; }
  Checker& checker() { return checker_; }
  const JudgedReleases& judged() const { return checker_.judged(); }

  // Writes or creates an object; returns it as stored. `sent`: see Commit; null: not
  // known.
  Json Write(const std::string& user, const std::string& group, const std::string& plural,
             Json object, const std::string& subresource = "", Json sent = nullptr);
  Json WritePod(const std::string& user, Json pod) {
    return Write(user, "", "pods", std::move(pod));
  }
  Json Stored(const std::string& group, const std::string& plural, const std::string& ns,
              const std::string& name) const {
    return objects_.at({group, plural, ns, name});
  }
  void Delete(const std::string& user, const std::string& group, const std::string& plural,
              const std::string& ns, const std::string& name);

  // `spec`: the spec of the ClusterPodPlacementConfig.
  void SetCluster(Json spec, bool deleting = false);
  void DeleteCluster();
  // Of the namespace shop, announced 250 ms before it is stored.
  void SetConfig(const std::string& name, Json spec, bool announced = true);
  void DeleteConfig(const std::string& name);
  void SetNamespace(const std::string& name, Json labels, bool deleting = false);

  // A pod of shop as stored, gated by admission. `local`: by a PodPlacementConfig, too.
  Json CreatePod(Json pod, bool local = false);

  void Finish(Time faults_ended = {}, const EventCounters& counters = {});

 private:
  using Id = std::tuple<std::string, std::string, std::string, std::string>;

  Facts facts_;
  Checker checker_{facts_};
  std::map<Id, Json> objects_;
  std::map<std::string, int64_t> generations_;
  uint64_t version_ = 0;
  int uids_ = 0;
  Time now_{};
};

// A pod of the namespace shop with one container of kImage, without gates.
Json Pod(const std::string& name);
// The spec of a configuration that prefers these: {"arm64", 75}.
Json Prefers(std::vector<std::pair<std::string, int>> platforms, int priority = 0);

// What programs do to pods. Each returns the changed pod.
Json Gated(Json pod, std::string_view gate);
Json Labelled(Json pod, const std::string& key, const std::string& value = "");
Json WithoutLabel(Json pod, const std::string& key);
Json Annotated(Json pod, const std::string& key, const std::string& value);
// Without the gate, and with its label.
Json WithoutGate(Json pod, std::string_view gate);
// Appends to each required term, or makes one.
Json Requiring(Json pod, const std::string& key, std::vector<std::string> values);
// Appends a preference, with its record and label. `source`: "ClusterPodPlacementConfig".
Json Preferring(Json pod, const std::string& architecture, int weight, const std::string& source);
Json Recorded(Json pod, const std::string& entry);
Json Tolerating(Json pod, const std::string& architecture);
// Requirement and labels for these architectures, both labels of affinities; the cluster gate
// stays.
Json Required(Json pod, std::vector<std::string> architectures);
// The same, without the cluster gate: the write of the cluster controller.
Json Placed(Json pod, std::vector<std::string> architectures);
// A pod whose images could not be inspected, after these attempts.
Json Failed(Json pod, int attempts);

}  // namespace sim::checker
