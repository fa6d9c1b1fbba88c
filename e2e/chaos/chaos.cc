// SPDX-License-Identifier: Apache-2.0
// Chaos: the operator on a real control plane of three members of etcd and two API servers, with
// real faults (README.md).
//
//   chaos --seconds=180 --seed=7
//   chaos --only="etcd" --report=/tmp/report.json --recording=/tmp/recording.jsonl
//
// KUBEBUILDER_ASSETS names the programs of the control plane. The exit code is 1 if something was
// violated, and 2 if the run could not begin.
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

#include "e2e/chaos/report.h"
#include "e2e/chaos/run.h"
#include "e2e/chaos/stage/stage.h"

DEFINE_int32(seconds, 180, "How long there are users and faults.");
DEFINE_uint64(seed, 1, "Decides what users do, and which faults there are.");
DEFINE_string(only, "", "Only faults whose kind has this text in its name.");
DEFINE_string(report, "", "The JSON file to write.");
DEFINE_string(recording, "", "The file for the recording, for //e2e/recording:judge.");
DEFINE_string(revision, "", "The version of the source, for the report.");
DEFINE_string(folder, "/tmp/pod-placement-chaos", "For data and logs of all processes; emptied.");

namespace e2e {
namespace {

// Each connection through a proxy has two descriptors.
void AllowManyDescriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  PCHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

int PlayOnce() {
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  if (assets == nullptr || *assets == '\0') {
    std::cerr << "KUBEBUILDER_ASSETS must name the programs of the control plane; "
                 "e2e/cluster/build-tools.sh builds them and prints their folder\n";
    return 2;
  }
  AllowManyDescriptors();
  auto stage = Stage::Make(assets, FLAGS_folder);
  if (!stage) {
    std::cerr << stage.error() << "\n";
    return 2;
  }
  std::cout << "logs are in " << FLAGS_folder << std::endl;
  Run run(**stage, {.seed = FLAGS_seed,
                    .length = std::chrono::seconds(FLAGS_seconds),
                    .revision = FLAGS_revision,
                    .recording = FLAGS_recording,
                    .only = FLAGS_only});
  kube::Result<> played = run.Play();
  if (!played) {
    std::cerr << played.error() << "\n";
    return 2;
  }
  std::cout << DescribeReport(run.report(), run.waits());
  if (!FLAGS_report.empty()) {
    std::ofstream(FLAGS_report) << kube::PrettyJson(
        ReportToJson(run.report(), run.waits(), run.timeline()));
  }
  return run.report().violations.empty() ? 0 : 1;
}

}  // namespace
}  // namespace e2e

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, /*remove_flags=*/true);
  google::InitGoogleLogging(argv[0]);
  return e2e::PlayOnce();
}
