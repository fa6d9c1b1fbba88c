// SPDX-License-Identifier: Apache-2.0
#include "plugin/report/report.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "api/names.h"
#include "image-facts/image_fact.h"
#include "placement/pod_metadata.h"
#include "plugin/pod/node_fit.h"

namespace plugin {
namespace {

constexpr char kDaemonSet[] = "DaemonSet";
constexpr double kHoursOfMonth = 730;
constexpr double kGiB = 1024.0 * 1024 * 1024;

bool HasEnded(const kube::core::Pod& pod) {
  return pod.status().phase() == "Succeeded" || pod.status().phase() == "Failed";
}

HeldBackImage AsHeldBack(const PodImage& image) {
  std::string platforms =
      image.platforms == nullptr ? "" : image_facts::PlatformsToText(*image.platforms);
  if (!image.finding.empty()) platforms += " (" + image.finding + ")";
  return {image.image, std::move(platforms), image.newer};
}

// An annotation may be long.
std::string OwnerOf(const kube::core::Pod& pod, const std::string& key) {
  constexpr size_t kMaxOwner = 128;
  std::string owner(placement::LabelOf(pod, key));
  if (owner.empty()) owner = placement::AnnotationOf(pod, key);
  return owner.substr(0, kMaxOwner);
}

// A new node without taints and without labels of its own.
placement::NodeView NodeOf(const std::string& architecture) {
  return {.name = "new",
          .labels = {{std::string(api::kArchLabel), architecture},
                     {std::string(api::kOsLabel), std::string(placement::kLinux)}}};
}

double CostOf(const Price& price, const Amount& amount) {
  return kHoursOfMonth * (price.cpu * amount.cpu + price.memory * amount.memory / kGiB);
}

}  // namespace

bool Supports(const PodImage& image, const std::string& architecture) {
  if (image.platforms == nullptr || image.wrong.contains(architecture)) return false;
  return image.platforms->every || placement::Common({&image.platforms, 1})
                                       .On(std::string(placement::kLinux))
                                       .contains(architecture);
}

std::string_view NameOf(Fate fate) {
  constexpr std::array<std::string_view, kFates> kNames = {
      "runs there", "could run there", "held back", "asks for another", "not known", "stays"};
  return kNames[static_cast<size_t>(fate)];
}

ReportBuilder::ReportBuilder(ReportOptions options)
    : options_(std::move(options)), budget_(options_.budget) {
  report_.architecture = options_.architecture;
}

void ReportBuilder::AddNode(const placement::NodeView& node, const Amount& allocatable) {
  const std::string architecture = node.Label(api::kArchLabel);
  architecture_of_[node.name] = architecture;
  ArchitectureLine& line = architectures_[architecture];
  line.architecture = architecture;
  ++line.nodes;
  line.allocatable += allocatable;
}

// What a person knows: a Deployment, not its ReplicaSet.
ReportBuilder::Key ReportBuilder::WorkloadOf(const kube::core::Pod& pod) {
  Key key{pod.metadata().namespace_(), "Pod", pod.metadata().name()};
  for (const auto& owner : pod.metadata().owner_references()) {
    if (!owner.controller()) continue;
    key.kind = owner.kind();
    key.name = owner.name();
  }
  const std::string hash = "-" + std::string(placement::LabelOf(pod, "pod-template-hash"));
  if (key.kind == "ReplicaSet" && hash.size() > 1 && key.name.ends_with(hash)) {
    key.kind = "Deployment";
    key.name.resize(key.name.size() - hash.size());
  }
  return key;
}

Fate ReportBuilder::FateOf(const kube::core::Pod& pod, const std::string& kind,
                           const std::string& on, const std::vector<PodImage>& images,
                           WorkloadLine& line) const {
  const std::string& wanted = options_.architecture;
  // Mirror pods.
  if (kind == "Node") return Fate::kStays;
  if (on == wanted && kind != kDaemonSet) return Fate::kRunsThere;
  std::vector<HeldBackImage> unknown, lacking;
  for (const PodImage& image : images) {
    if (image.platforms == nullptr) {
      unknown.push_back(AsHeldBack(image));
    } else if (!Supports(image, wanted)) {
      lacking.push_back(AsHeldBack(image));
    }
  }
  if (!lacking.empty()) {
    line.images = std::move(lacking);
    return Fate::kHeldBack;
  }
  if (FitOf(pod.spec(), NodeOf(wanted)).misfit == Misfit::kArchitecture) return Fate::kConstrained;
  if (!unknown.empty()) {
    line.images = std::move(unknown);
    return Fate::kNotKnown;
  }
  return Fate::kCould;
}

void ReportBuilder::AddCost(const std::string& on, const Amount& requests) {
  auto now = options_.prices.find(on), there = options_.prices.find(options_.architecture);
  if (now == options_.prices.end() || there == options_.prices.end()) return;
  report_.cost_now = report_.cost_now.value_or(0) + CostOf(now->second, requests);
  report_.cost_there = report_.cost_there.value_or(0) + CostOf(there->second, requests);
}

WorkloadLine* ReportBuilder::LineOf(const Key& key) {
  auto found = workloads_.find(key);
  if (found != workloads_.end()) return &found->second;
  const size_t bytes = sizeof(WorkloadLine) + key.ns.size() + key.kind.size() + key.name.size();
  if (!budget_.Take(key.ns, bytes)) return nullptr;
  return &workloads_[key];
}

std::vector<HeldBackImage> ReportBuilder::Admitted(const std::string& ns,
                                                   std::vector<HeldBackImage> images) {
  std::erase_if(images, [&](const HeldBackImage& image) {
    return !budget_.Take(ns, sizeof image + image.image.size() + image.platforms.size());
  });
  return images;
}

placement::ArchitectureSet ReportBuilder::Admitted(const std::string& ns,
                                                   placement::ArchitectureSet architectures) {
  size_t bytes = 0;
  for (const std::string& architecture : architectures)
    bytes += sizeof architecture + architecture.size();
  if (!budget_.Take(ns, bytes)) architectures.clear();
  return architectures;
}

void ReportBuilder::AddPod(const kube::core::Pod& pod, const Amount& requests,
                           const std::vector<PodImage>& images) {
  if (HasEnded(pod)) return;
  auto node = architecture_of_.find(pod.spec().node_name());
  const std::string on = node == architecture_of_.end() ? "" : node->second;
  if (node != architecture_of_.end()) {
    ArchitectureLine& used = architectures_[on];
    ++used.pods;
    used.requested += requests;
  }
  Key key = WorkloadOf(pod);
  WorkloadLine of_pod;
  const Fate fate = FateOf(pod, key.kind, on, images, of_pod);
  WorkloadLine* line = LineOf(key);
  if (line == nullptr) {
    ++report_.left_out;
  } else {
    if (line->pods == 0) {
      *line = {.ns = key.ns,
               .kind = key.kind,
               .name = key.name,
               .owner = OwnerOf(pod, options_.owner_key),
               .fate = fate,
               .images = Admitted(key.ns, std::move(of_pod.images))};
      std::vector<placement::SharedPlatforms> platforms;
      for (const PodImage& image : images) platforms.push_back(image.platforms);
      if (std::find(platforms.begin(), platforms.end(), nullptr) == platforms.end())
        line->can_run_on =
            Admitted(key.ns, placement::Common(platforms).On(std::string(placement::kLinux)));
    }
    // Some of its pods run there: what counts is what the others could.
    if (line->fate == Fate::kRunsThere && fate != Fate::kRunsThere) {
      line->fate = fate;
      line->images = Admitted(key.ns, std::move(of_pod.images));
    }
    ++line->pods;
    ++line->runs_on[on];
    line->requests += requests;
  }
  if (key.kind == kDaemonSet) return;
  FateLine& sum = report_.fates[static_cast<size_t>(fate)];
  ++sum.pods;
  sum.requests += requests;
  if (fate == Fate::kCould) AddCost(on, requests);
}

Report ReportBuilder::Build() {
  for (auto& [name, line] : architectures_) report_.architectures.push_back(std::move(line));
  for (auto& [key, line] : workloads_) {
    if (line.kind != kDaemonSet) {
      report_.workloads.push_back(std::move(line));
    } else if (line.fate != Fate::kCould) {
      report_.daemon_sets.push_back(std::move(line));
    }
  }
  std::stable_sort(report_.workloads.begin(), report_.workloads.end(),
                   [](const WorkloadLine& a, const WorkloadLine& b) {
                     return std::pair(a.requests.cpu, a.requests.memory) >
                            std::pair(b.requests.cpu, b.requests.memory);
                   });
  return std::move(report_);
}

}  // namespace plugin
