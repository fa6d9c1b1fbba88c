// SPDX-License-Identifier: Apache-2.0
// preferences: the effect of a preference's weight in the real kube-scheduler, against the
// spreading of a Deployment's pods and against the utilization of nodes. The operator is not
// deployed: the pods are created with the preferences that a PodPlacementConfig would set. Prints
// two tables, which docs/preferences.md joins.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "api/names.h"
#include "benchmarks/start_cluster.h"
#include "e2e/cluster_harness/nodes.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/objects.h"
#include "e2e/framework/resources.h"
#include "e2e/framework/scene.h"
#include "kube/client/typed.h"

DEFINE_string(folder, "/tmp/pod-placement-preferences", "For data and logs of all processes.");

namespace benchmarks {
namespace {

using namespace std::chrono_literals;
using e2e::Json;
using kube::Error;
using kube::Ok;
using kube::Result;

constexpr const char* kImage = "registry.example/app:1";

// The weights of arm64 and amd64, both supported by the image.
struct Preference {
  int arm64;
  int amd64;
};
constexpr Preference kPreferences[] = {{0, 0}, {1, 0}, {100, 0}, {75, 25}, {60, 40}, {55, 45}};
constexpr int kReplicas[] = {2, 4, 10, 30};
constexpr int kNodesOfEach[] = {1, 3};
// The share of the arm64 node's processors and memory requested by other pods, in percent.
constexpr int kInUse[] = {0, 10, 20, 30, 40, 50, 60, 70, 80, 90};

e2e::PodBuilder MakePod(const std::string& name, Preference preference) {
  e2e::PodBuilder pod =
      e2e::MakePod(name).Image(kImage).Require(std::string(api::kArchLabel), {"amd64", "arm64"});
  if (preference.arm64 > 0) pod.Prefer("arm64", preference.arm64);
  if (preference.amd64 > 0) pod.Prefer("amd64", preference.amd64);
  return pod;
}

std::string Text(Preference preference) {
  if (preference.arm64 == 0) return "none";
  std::string text = "arm64:" + std::to_string(preference.arm64);
  return preference.amd64 == 0 ? text : text + ", amd64:" + std::to_string(preference.amd64);
}

class Measurement {
 public:
  explicit Measurement(e2e::Cluster& cluster) : cluster_(cluster) {}

  Result<> Run() {
    for (int nodes : kNodesOfEach) {
      Result<> added = AddNodes(nodes);
      if (!added) return added;
      Result<> measured = MeasureSpreading(nodes);
      if (!measured) return measured;
    }
    Result<> removed = RemoveAddedNodes();
    if (!removed) return removed;
    return MeasureUse();
  }

 private:
  Result<> MeasureSpreading(int nodes) {
    std::printf("\nReplicas on arm64, %d node(s) of each architecture\n%-22s", nodes, "preference");
    for (int replicas : kReplicas) std::printf("%10d", replicas);
    std::printf("\n");
    for (Preference preference : kPreferences) {
      std::printf("%-22s", Text(preference).c_str());
      for (int replicas : kReplicas) {
        Json deployment =
            e2e::MakeDeployment("web", MakePod("", preference)).Replicas(replicas).Build();
        Result<int> on_arm64 = Place(e2e::kDeployments, {deployment}, replicas);
        if (!on_arm64) return on_arm64.error();
        std::printf("%10d", *on_arm64);
        std::fflush(stdout);
      }
      std::printf("\n");
    }
    return Ok();
  }

  Result<> MeasureUse() {
    std::printf(
        "\nHighest utilization of the arm64 node at which a pod still prefers it to an empty amd64 "
        "node\n");
    for (Preference preference : kPreferences) {
      int most = -1;
      for (int in_use : kInUse) {
        Json filler = e2e::MakePod("filler")
                          .Image(kImage)
                          .NodeSelector(std::string(api::kArchLabel), "arm64")
                          .Build();
        filler["spec"]["containers"][0]["resources"]["requests"] = {
            {"cpu", std::to_string(64'000 * in_use / 100) + "m"},
            {"memory", std::to_string(256 * 1024 * in_use / 100) + "Mi"}};
        Result<int> on_arm64 = Place(e2e::kPods, {filler, MakePod("web", preference).Build()}, 1);
        if (!on_arm64) return on_arm64.error();
        if (*on_arm64 < 2) break;
        most = in_use;
      }
      std::printf("%-22s%s\n", Text(preference).c_str(),
                  most < 0 ? "never" : (std::to_string(most) + " %").c_str());
      std::fflush(stdout);
    }
    return Ok();
  }

  // Creates `objects`, each with `pods_each` pods, in sequence in a new namespace. Returns the
  // number of pods on arm64 nodes once all pods are scheduled.
  Result<int> Place(const kube::Resource& resource, std::vector<Json> objects, int pods_each) {
    auto scene = e2e::Scene::Make(cluster_, "preferences", Json::object());
    if (!scene) return scene.error();
    int expected = 0;
    int on_arm64 = 0;
    for (Json& object : objects) {
      Result<Json> created = (*scene)->Create(resource, std::move(object));
      if (!created) return created.error();
      expected += pods_each;
      auto deadline = cluster_.clock().Now() + cluster_.timeout();
      int bound = 0;
      while (bound < expected) {
        if (cluster_.clock().Now() > deadline)
          return Error::DeadlineExceeded("not all pods are scheduled");
        cluster_.Pause(50ms);
        Result<std::vector<Json>> pods = (*scene)->List(e2e::kPods);
        if (!pods) return pods.error();
        bound = on_arm64 = 0;
        for (const Json& pod : *pods) {
          std::string node = kube::StringAt(pod, "spec.nodeName");
          bound += node.empty() ? 0 : 1;
          on_arm64 += node.starts_with("node-arm64") ? 1 : 0;
        }
      }
    }
    Result<> cleared = Clear(**scene);
    if (!cleared) return cleared.error();
    return on_arm64;
  }

  // Deletes the namespace of `scene` and waits until its pods are deleted.
  Result<> Clear(e2e::Scene& scene) {
    Result<> deleted = scene.cluster().Run(
        kube::DeleteObject(cluster_.client(), e2e::kNamespaces, {"", scene.ns()}));
    if (!deleted && !IsNotFound(deleted)) return deleted;
    auto deadline = cluster_.clock().Now() + cluster_.timeout();
    while (cluster_.clock().Now() < deadline) {
      Result<std::vector<Json>> pods = scene.List(e2e::kPods);
      if (pods && pods->empty()) return Ok();
      cluster_.Pause(50ms);
    }
    return Error::DeadlineExceeded("pods are not deleted");
  }

  Result<> AddNodes(int of_each) {
    for (const Json& node : e2e::NodesOfEveryArchitecture()) {
      for (int i = 2; i <= of_each; ++i) {
        Json another = node;
        std::string name = kube::StringAt(node, "metadata.name") + "-" + std::to_string(i);
        another["metadata"]["name"] = name;
        another["metadata"]["labels"]["kubernetes.io/hostname"] = name;
        auto created = cluster_.Run(
            kube::CreateObject(cluster_.client(), e2e::kNodes, kube::Unstructured(another)));
        if (!created) return created.error();
        added_.push_back(std::move(name));
      }
    }
    return Ok();
  }

  Result<> RemoveAddedNodes() {
    for (const std::string& name : added_) {
      Result<> deleted =
          cluster_.Run(kube::DeleteObject(cluster_.client(), e2e::kNodes, {"", name}));
      if (!deleted) return deleted;
    }
    added_.clear();
    return Ok();
  }

  e2e::Cluster& cluster_;
  std::vector<std::string> added_;
};

Result<> Main() {
  auto cluster = StartCluster(FLAGS_folder);
  if (!cluster) return cluster.error();
  return Measurement(**cluster).Run();
}

}  // namespace
}  // namespace benchmarks

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  kube::Result<> done = benchmarks::Main();
  if (!done) std::fprintf(stderr, "%s\n", done.error().ToString().c_str());
  return done ? 0 : 1;
}
