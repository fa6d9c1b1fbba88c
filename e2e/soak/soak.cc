// SPDX-License-Identifier: Apache-2.0
// soak: a long run of the operator's and the fleet's programs under a steady load, with faults.
// Samples of every process go to a file, which soak_report.py judges. See README.md.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/measurement.h"
#include "benchmarks/start_cluster.h"
#include "e2e/soak/config_load.h"
#include "e2e/soak/faults.h"
#include "e2e/soak/fleet_load.h"
#include "e2e/soak/pod_load.h"
#include "e2e/soak/quiet_clock.h"
#include "e2e/soak/sampler.h"
#include "e2e/soak/soak_log.h"
#include "kube/base/task_group.h"

DEFINE_int32(seconds, 7200, "The length of the run, without its start.");
DEFINE_int32(rate, 30, "Pods a second.");
DEFINE_int32(namespaces, 3, "Namespaces with a PodPlacementConfig, between which pods alternate.");
DEFINE_int32(keep, 15, "Seconds from a pod's last gate to its deletion.");
DEFINE_int32(longest_gated, 60,
             "Seconds for which a pod may be gated; the time of faults does not count.");
DEFINE_int32(fault_every, 60, "Seconds between the starts of two faults; 0 for no faults.");
DEFINE_int32(edit_every, 3, "Seconds between two edits of a config or policy.");
DEFINE_int32(rotate_every, 120, "Seconds between two deletions of a Secret with a certificate.");
DEFINE_int32(sample_every, 15, "Seconds between two samples of each process.");
DEFINE_uint64(seed, 1, "Chooses faults and edits.");
DEFINE_string(output, "soak.jsonl", "The file for the samples.");
DEFINE_string(revision, "", "Of the programs, for the report.");
DEFINE_string(folder, "/tmp/pod-placement-soak", "For data and logs of all processes.");

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

// The events of the pods; a namespace of the run has some hundred thousand of them otherwise.
constexpr char kEventTtl[] = "--event-ttl=5m";
// At least this share of the pods must have had both gates, else the run has not shown much:
// a pod that is created during a fault may have none.
constexpr double kGated = 0.8;

std::vector<std::string> Namespaces() {
  std::vector<std::string> names;
  for (int i = 0; i < FLAGS_namespaces; ++i) names.push_back("soak-" + std::to_string(i));
  return names;
}

class Soak {
 public:
  explicit Soak(ProcessCluster& cluster)
      : cluster_(cluster),
        log_(FLAGS_output, cluster.clock()),
        configs_(cluster, {.namespaces = Namespaces(),
                           .edit_every = std::chrono::seconds(FLAGS_edit_every),
                           .rotate_every = std::chrono::seconds(FLAGS_rotate_every),
                           .seed = FLAGS_seed}),
        fleet_(cluster, {.folder = FLAGS_folder + "/fleet",
                         .member_namespace = Namespaces().back(),
                         .seed = FLAGS_seed}),
        quiet_(cluster.clock().Now()),
        pods_(cluster, quiet_, log_,
              {.namespaces = Namespaces(),
               .rate = FLAGS_rate,
               .keep = std::chrono::seconds(FLAGS_keep),
               .longest_gated = std::chrono::seconds(FLAGS_longest_gated)}),
        faults_(cluster, fleet_, quiet_, log_,
                {.every = std::chrono::seconds(FLAGS_fault_every), .seed = FLAGS_seed}),
        sampler_(cluster, fleet_, faults_, log_, std::chrono::seconds(FLAGS_sample_every)),
        load_(cluster.io().get_executor()),
        watch_(cluster.io().get_executor()) {}

  ~Soak() {
    kube::IgnoreError(Stop(load_), "the run ends");
    kube::IgnoreError(Stop(watch_), "the run ends");
  }

  Result<> Run() {
    Result<> done = configs_.Create();
    if (done) done = fleet_.Start();
    if (!done) return done;
    Begin();
    cluster_.Pause(std::chrono::seconds(FLAGS_seconds));
    // Faults have been undone when they have stopped.
    pods_.StopCreating();
    Result<> stopped = Stop(load_);
    if (!stopped) log_.Fail(stopped.error().ToString());
    AwaitUngated();
    return End();
  }

 private:
  void Begin() {
    log_.Begin();
    kube::Json about = benchmarks::AboutThisMachine();
    about["revision"] = FLAGS_revision;
    about["options"] = {{"seconds", FLAGS_seconds},
                        {"rate", FLAGS_rate},
                        {"namespaces", FLAGS_namespaces},
                        {"fault_every", FLAGS_fault_every},
                        {"edit_every", FLAGS_edit_every},
                        {"rotate_every", FLAGS_rotate_every},
                        {"seed", FLAGS_seed}};
    log_.Write("start", std::move(about));
    watch_.Spawn("supervise", fleet_.Supervise());
    watch_.Spawn("sample", sampler_.Run());
    pods_.Start(watch_);
    load_.Spawn("edit", configs_.Edit());
    load_.Spawn("rotate", configs_.Rotate());
    load_.Spawn("scores", fleet_.Change());
    load_.Spawn("faults", faults_.Run());
  }

  // Until all pods are ungated, or PodLoad has reported those that are not.
  void AwaitUngated() {
    auto deadline = cluster_.clock().Now() + 2 * std::chrono::seconds(FLAGS_longest_gated);
    while (pods_.ledger().gated() > 0 && cluster_.clock().Now() < deadline) cluster_.Pause(100ms);
    if (pods_.ledger().gated() > 0)
      log_.Fail(std::to_string(pods_.ledger().gated()) + " pods are gated at the end");
  }

  Result<> Stop(kube::TaskGroup& tasks) { return cluster_.Run(tasks.Stop(cluster_.clock(), 30s)); }

  Result<> End() {
    Result<> stopped = Stop(watch_);
    if (!stopped) log_.Fail(stopped.error().ToString());
    Result<> runs = cluster_.control_plane().AllRun();
    if (!runs) log_.Fail(runs.error().ToString());
    const PodLoad::Counts& pods = pods_.counts();
    if (pods.both_gates < kGated * pods.created || pods.created == 0) {
      log_.Fail("of " + std::to_string(pods.created) + " pods, only " +
                std::to_string(pods.both_gates) + " had both gates");
    }
    log_.Write("end", {{"failures", log_.failures()},
                       {"created", pods.created},
                       {"edits", configs_.edits()},
                       {"failed_edits", configs_.failed_edits()},
                       {"rotations", configs_.rotations()},
                       {"scores", fleet_.changes()}});
    Result<> written = log_.Check();
    if (!written) return written;
    if (log_.failures().empty()) return Ok();
    return Error::Internal(std::to_string(log_.failures().size()) + " failures of the run");
  }

  ProcessCluster& cluster_;
  SoakLog log_;
  ConfigLoad configs_;
  FleetLoad fleet_;
  QuietClock quiet_;
  PodLoad pods_;
  Faults faults_;
  Sampler sampler_;
  kube::TaskGroup load_;   // edits and faults
  kube::TaskGroup watch_;  // pods and samples, until all pods are ungated
};

Result<> Main() {
  auto cluster =
      benchmarks::StartCluster(FLAGS_folder, {.api_server_args = {std::string(kEventTtl)}});
  if (!cluster) return cluster.error();
  Result<> deployed = (*cluster)->DeployOperator();
  if (!deployed) return deployed;
  return Soak(**cluster).Run();
}

}  // namespace
}  // namespace e2e

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  kube::Result<> done = e2e::Main();
  if (!done) std::fprintf(stderr, "%s\n", done.error().ToString().c_str());
  return done ? 0 : 1;
}
