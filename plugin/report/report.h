// SPDX-License-Identifier: Apache-2.0
// Report: what could run on an architecture, and what keeps the rest from it. Pure.
//
//   ReportBuilder builder({.architecture = "arm64"});
//   for (...) builder.AddNode(node, allocatable);       // all nodes first
//   for (...) builder.AddPod(pod, requests, images);
//   Report report = builder.Build();
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/types/core.pb.h"
#include "placement/architecture.h"
#include "placement/node_match.h"
#include "plugin/images/pod_image.h"
#include "plugin/pod/evidence.h"
#include "plugin/report/amount.h"
#include "plugin/report/fair_bytes.h"

namespace plugin {

// Of an hour, of a CPU and of a GiB of memory, by architecture.
struct Price {
  double cpu = 0;
  double memory = 0;
};
using Prices = std::map<std::string, Price>;

// Whether the image is for linux on the architecture; false if its platforms are not known.
bool Supports(const PodImage& image, const std::string& architecture);

struct ReportOptions {
  // The architecture of the nodes that may be added.
  std::string architecture = "arm64";
  // The label, or annotation, of pods with who is responsible for them; "" for none.
  std::string owner_key;
  Prices prices;
  // Of the lines of workloads. What is beyond it counts in the sums alone.
  ByteBudget budget = {};
};

enum class Fate {
  kRunsThere,    // on a node of the architecture
  kCould,        // its images are for the architecture
  kHeldBack,     // an image is not
  kConstrained,  // it asks for another architecture itself
  kNotKnown,     // the platforms of an image are not known
  kStays,        // the kubelet of its node has created it
};
inline constexpr size_t kFates = 6;
std::string_view NameOf(Fate fate);  // "runs there"

// An image without the architecture.
struct HeldBackImage {
  std::string image;
  std::string platforms;  // "" if not known
  // The newest tag that has the architecture; "" if it was not asked for, or there is none.
  std::string newer;
};

struct WorkloadLine {
  std::string ns;
  std::string kind;  // "Deployment"
  std::string name;
  std::string owner;  // by ReportOptions::owner_key
  size_t pods = 0;
  Amount requests;
  // Pods by the architecture of their node; "" for those without a node.
  std::map<std::string, size_t> runs_on;
  // What the images have in common on linux; empty if that is not known.
  placement::ArchitectureSet can_run_on;
  Fate fate = Fate::kNotKnown;
  std::vector<HeldBackImage> images;  // kHeldBack, kNotKnown: those that are the reason
};

struct ArchitectureLine {
  std::string architecture;  // "" for nodes without the label
  size_t nodes = 0;
  size_t pods = 0;
  Amount allocatable;
  Amount requested;
};

struct FateLine {
  size_t pods = 0;
  Amount requests;
};

struct Report {
  std::string architecture;
  std::vector<ArchitectureLine> architectures;
  // Without DaemonSets, by Fate.
  std::array<FateLine, kFates> fates{};
  // The largest first: in CPUs, then in memory.
  std::vector<WorkloadLine> workloads;
  // Those of which it is not known that they would run on the new nodes.
  std::vector<WorkloadLine> daemon_sets;
  // Of a month of 730 hours, of the pods that could run there: on the nodes where they are, and
  // there. nullopt without the prices of both.
  std::optional<double> cost_now, cost_there;
  // Pods whose workload has no line.
  size_t left_out = 0;
  std::vector<Unread> unread;
};

class ReportBuilder {
 public:
  explicit ReportBuilder(ReportOptions options);

  void AddNode(const placement::NodeView& node, const Amount& allocatable);
  // Pods that have ended do not count.
  void AddPod(const kube::core::Pod& pod, const Amount& requests,
              const std::vector<PodImage>& images);
  Report Build();

 private:
  struct Key {
    std::string ns, kind, name;
    auto operator<=>(const Key&) const = default;
  };

  static Key WorkloadOf(const kube::core::Pod& pod);
  Fate FateOf(const kube::core::Pod& pod, const std::string& kind, const std::string& on,
              const std::vector<PodImage>& images, WorkloadLine& line) const;
  void AddCost(const std::string& on, const Amount& requests);
  // nullptr if the budget has no place for another one.
  WorkloadLine* LineOf(const Key& key);
  // Those for which the budget has a place.
  std::vector<HeldBackImage> Admitted(const std::string& ns, std::vector<HeldBackImage> images);
  placement::ArchitectureSet Admitted(const std::string& ns,
                                      placement::ArchitectureSet architectures);

  ReportOptions options_;
  Report report_;
  std::map<std::string, std::string> architecture_of_;  // by node
  std::map<std::string, ArchitectureLine> architectures_;
  std::map<Key, WorkloadLine> workloads_;
  FairBytes budget_;
};

}  // namespace plugin
