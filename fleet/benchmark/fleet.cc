// SPDX-License-Identifier: Apache-2.0
// fleet: what a hub's program needs for a fleet: the first pass, single changes, a restart, rest.
// It fails if a decision is wrong, if a cluster that stays selected was missing from the decisions,
// or if anything is written when nothing has changed. See ../README.md.
#include <gflags/gflags.h>
#include <glog/logging.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "benchmarks/measurement.h"
#include "fleet/benchmark/fleet_run.h"
#include "fleet/e2e/fleet_cluster.h"

DEFINE_int32(clusters, 5000, "ManagedClusters, each with an AddOnPlacementScore.");
DEFINE_validator(clusters,
                 [](const char*, int32_t value) { return value >= benchmarks::kMinClusters; });
DEFINE_int32(placements, 500, "Placements, in up to 50 namespaces.");
DEFINE_validator(placements,
                 [](const char*, int32_t value) { return value >= benchmarks::kMinPlacements; });
DEFINE_int32(changes, 50, "Changes of each kind, one after the other.");
DEFINE_validator(changes, [](const char*, int32_t value) { return value > 0; });
DEFINE_int32(rest, 60, "Seconds in which the hub is observed with nothing to do.");
DEFINE_validator(rest, [](const char*, int32_t value) { return value > 0; });
DEFINE_int32(timeout, 900, "Of each step, in seconds.");
DEFINE_string(folder, "/tmp/pod-placement-benchmark", "For data and logs of all processes.");
DEFINE_string(output, "", "The JSON file with the results, for report.py. Empty: none.");
DEFINE_string(revision, "", "Of the source tree, for the results.");

namespace benchmarks {
namespace {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

Json CostToJson(const e2e::ProcessCost& cost) {
  auto mb = [](long kb) { return static_cast<double>(kb) / 1024; };
  return {{"rss_mb", mb(cost.rss_kb)},
          {"private_mb", mb(cost.own_rss_kb)},
          {"peak_rss_mb", mb(cost.peak_rss_kb)}};
}

class Benchmark {
 public:
  explicit Benchmark(e2e::FleetCluster& cluster)
      : run_(cluster, {.clusters = FLAGS_clusters,
                       .placements = FLAGS_placements,
                       .timeout = std::chrono::seconds(FLAGS_timeout)}),
        results_(FLAGS_output, About()) {}

  Result<> Run() {
    Result<> done = run_.Create();
    if (!done) return done.error().Prefix("create the fleet");
    if (done = FirstPass(); !done) return done.error().Prefix("first pass");
    for (ChangeKind kind : {ChangeKind::kLabel, ChangeKind::kScore, ChangeKind::kTaint}) {
      if (done = Change(kind); !done) return done.error().Prefix(NameOf(kind));
    }
    if (done = AtRest(); !done) return done.error().Prefix("at rest");
    if (done = Restart(); !done) return done.error().Prefix("restart");
    return Missing();
  }

 private:
  static Json About() {
    Json about = AboutThisMachine();
    about["revision"] = FLAGS_revision;
    about["options"] = {
        {"clusters", FLAGS_clusters}, {"placements", FLAGS_placements}, {"changes", FLAGS_changes}};
    return about;
  }

  Result<> FirstPass() {
    Result<Pass> pass = run_.FirstPass();
    if (!pass) return pass.error();
    return AddPass("first-pass", *pass);
  }

  Result<> Restart() {
    Result<Pass> pass = run_.Restart();
    if (!pass) return pass.error();
    Result<> added = AddPass("restart", *pass);
    if (!added || pass->writes.empty()) return added;
    return Error::Invalid("written although nothing has changed: " +
                          kube::DumpJson(Json(pass->writes)));
  }

  Result<> AddPass(const char* scenario, const Pass& pass) {
    Result<> right = run_.Verify();
    if (!right) return right;
    return results_.Add({{"scenario", scenario},
                         {"seconds", pass.seconds},
                         {"cpu_seconds", pass.cpu_seconds},
                         {"writes", pass.writes},
                         {"decisions", run_.log().pages()},
                         {"memory", CostToJson(pass.cost)}});
  }

  Result<> Change(ChangeKind kind) {
    Result<ChangeTimes> times = run_.Change(kind, FLAGS_changes);
    if (!times) return times.error();
    Result<> right = run_.Verify();
    if (!right) return right;
    Result<e2e::ProcessCost> cost = run_.HubCost();
    if (!cost) return cost.error();
    return results_.Add(
        {{"scenario", "change"},
         {"kind", std::string(NameOf(kind))},
         {"changes", times->changes},
         {"decided_ms", {{"p50", times->decided.p50_ms}, {"p99", times->decided.p99_ms}}},
         {"last_write_ms", {{"p50", times->last_write.p50_ms}, {"p99", times->last_write.p99_ms}}},
         {"writes_per_change", times->mean_writes},
         {"memory", CostToJson(*cost)}});
  }

  Result<> AtRest() {
    Result<Rest> rest = run_.AtRest(std::chrono::seconds(FLAGS_rest));
    if (!rest) return rest.error();
    Result<e2e::ProcessCost> cost = run_.HubCost();
    if (!cost) return cost.error();
    Result<> added = results_.Add({{"scenario", "rest"},
                                   {"seconds", FLAGS_rest},
                                   {"cpu_ms_per_minute", rest->cpu_ms_per_minute},
                                   {"writes", rest->writes},
                                   {"memory", CostToJson(*cost)}});
    if (!added || rest->writes.empty()) return added;
    return Error::Invalid("written although nothing has changed: " +
                          kube::DumpJson(Json(rest->writes)));
  }

  Result<> Missing() {
    Result<> added = results_.Add({{"scenario", "missing"},
                                   {"events", run_.log().events()},
                                   {"missing", run_.log().missing_count()}});
    if (!added || run_.log().missing_count() == 0) return added;
    return Error::Invalid("selected clusters were missing from all decisions, such as " +
                          run_.log().missing().front());
  }

  FleetRun run_;
  Results results_;
};

Result<> Main() {
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  if (assets == nullptr || *assets == '\0')
    return Error::Invalid("KUBEBUILDER_ASSETS must name the folder with a control plane");
  std::error_code ec;
  std::filesystem::remove_all(FLAGS_folder, ec);
  auto cluster = e2e::FleetCluster::Start({.assets = assets, .folder = FLAGS_folder, .audit = true},
                                          {"fleet/api/crds"});
  if (!cluster) return cluster.error();
  return Benchmark(**cluster).Run();
}

}  // namespace
}  // namespace benchmarks

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  kube::Result<> done = benchmarks::Main();
  if (!done) std::fprintf(stderr, "%s\n", done.error().ToString().c_str());
  return done ? 0 : 1;
}
