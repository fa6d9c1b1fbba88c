// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/run.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "e2e/cluster_harness/operator_objects.h"
#include "e2e/framework/pod_history.h"
#include "e2e/framework/resources.h"
#include "e2e/recording/judge.h"
#include "e2e/recording/recording_file.h"
#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;
using sim::checker::Time;
using std::chrono::milliseconds;

namespace {

constexpr auto kStep = 50ms;
// Bounds of the end. Programs that were killed often start after a while; images that could not be
// inspected are given up; a shard's Lease lasts for a minute.
constexpr auto kQuiet = 4min;
constexpr auto kProbe = 60s;
constexpr auto kRemoval = 3min;
constexpr auto kSync = 60s;

// The images that users name, as push_demo.py has pushed them.
const std::map<std::string, std::vector<std::string>>& Platforms() {
  static const auto& platforms = *new std::map<std::string, std::vector<std::string>>{
      {"demo/multi:1", {"amd64", "arm64", "ppc64le", "s390x"}},
      {"demo/arm64-amd64:1", {"amd64", "arm64"}},
      {"demo/ppc64le-s390x:1", {"ppc64le", "s390x"}},
      {"demo/amd64:1", {"amd64"}},
      {"demo/arm64:1", {"arm64"}},
      {"demo/s390x:1", {"s390x"}}};
  return platforms;
}

std::vector<FaultKind> KindsWith(const std::string& text) {
  std::vector<FaultKind> kinds = AllFaults();
  std::erase_if(kinds, [&text](const FaultKind& kind) {
    return kind.outline.name.find(text) == std::string::npos;
  });
  return kinds;
}

std::vector<PlannedFault> PlanOf(const std::vector<FaultKind>& kinds, const RunOptions& options) {
  std::vector<FaultOutline> outlines;
  for (const FaultKind& kind : kinds) outlines.push_back(kind.outline);
  return MakePlan(outlines, {.seed = options.seed, .length = options.length});
}

RecorderOptions RecorderOptionsFor(ControlPlane& plane) {
  // An hour of a run.
  RecorderOptions options{.max_bytes = uint64_t{4} << 30};
  for (size_t i = 0; i < plane.api_servers(); ++i) options.audit_logs.push_back(plane.audit_log(i));
  return options;
}

// Whether a signal ended it that no fault sends: a crash.
bool IsCrash(int status) { return status > 128 && status != 128 + SIGKILL; }

}  // namespace

Run::Run(Stage& stage, RunOptions options)
    : stage_(stage),
      options_(std::move(options)),
      kinds_(KindsWith(options_.only)),
      recorder_(stage.cluster().client(), stage.cluster().clock(),
                stage.cluster().io().get_executor(), RecorderOptionsFor(stage.plane())),
      pods_(stage.cluster().client(), stage.cluster().clock(), kPods, {},
            [this](const std::string& type, const Json& pod) { OnPod(type, pod); }),
      tasks_(stage.cluster().io().get_executor()) {}

Run::~Run() {
  kube::IgnoreError(stage_.cluster().Run(tasks_.Stop(stage_.cluster().clock(), 10s)),
                    "the run ends");
  users_.reset();
  kube::IgnoreError(stage_.cluster().Run(recorder_.Stop()), "the run ends");
}

milliseconds Run::Now() const {
  return std::chrono::duration_cast<milliseconds>(stage_.cluster().clock().Now() - start_);
}

void Run::Violated(const std::string& text) {
  std::printf("VIOLATION: %s\n", text.c_str());
  std::fflush(stdout);
  report_.violations.push_back(text);
}

void Run::OnPod(const std::string& type, const Json& pod) {
  if (IsOperand(pod)) return;
  const std::string name =
      kube::StringAt(pod, "metadata.namespace") + "/" + kube::StringAt(pod, "metadata.name");
  waits_.Saw(kube::StringAt(pod, "metadata.uid"), name, IsGated(pod) && type != "DELETED", Now());
}

Result<> Run::Play() {
  ProcessCluster& cluster = stage_.cluster();
  start_ = cluster.clock().Now();
  Result<> recording = cluster.Run(recorder_.Start(60s));
  if (!recording) return recording.error().Prefix("recorder");
  users_ = std::make_unique<Users>(stage_, options_.seed);
  Result<> begun = users_->Begin();
  if (!begun) return begun.error();
  tasks_.Spawn("pods", pods_.Run());

  start_ = cluster.clock().Now();
  recorded_before_ = recorder_.now();
  faults_ = std::make_unique<FaultRunner>(stage_, kinds_, PlanOf(kinds_, options_), waits_);
  tasks_.Spawn("users", users_->Run());
  PlayFaults();
  AwaitQuiet();
  CheckProbes();
  CheckRemoval();
  CheckExits();
  JudgeRecording();

  report_.seed = options_.seed;
  report_.revision = options_.revision;
  report_.length = options_.length;
  report_.kinds = faults_->Reports();
  const UserCounts& counts = users_->counts();
  report_.counts["pods"] = waits_.pods();
  report_.counts["pods gated"] = waits_.Total().pods;
  report_.counts["deployments"] = counts.deployments;
  report_.counts["writes of PodPlacementConfigs"] = counts.configs + counts.deleted_configs;
  report_.counts["writes of the ClusterPodPlacementConfig"] = counts.cluster_configs;
  report_.counts["namespaces created"] = counts.namespaces;
  report_.counts["namespaces deleted in the run"] = counts.deleted_namespaces;
  report_.counts["calls of users that failed"] = counts.failed;
  report_.counts["faults"] = timeline().size();
  return Ok();
}

void Run::Step() {
  stage_.cluster().Pause(kStep);
  stage_.KeepControlPlane();
  for (PodProcess* process : stage_.kubelet().OfProgram("cluster-controller", "")) {
    int& known = controller_restarts_[process->name()];
    if (process->restarts() > known) controller_ends_.push_back(recorder_.now());
    known = process->restarts();
  }
}

void Run::PlayFaults() {
  while (Now() < options_.length) {
    Step();
    faults_->Step(Now());
  }
  faults_->EndAll(Now());
  users_->Stop();
}

Result<> Run::IsQuiet() {
  ProcessCluster& cluster = stage_.cluster();
  Result<> works = stage_.AllWork();
  if (!works) return works;
  auto pods = cluster.Run(kube::ListObjects(cluster.client(), kPods, kube::ListOptions()));
  if (!pods) return pods.error();
  std::map<std::string, std::string> waiting = waits_.Waiting();
  for (const kube::Unstructured& pod : pods->items) {
    if (IsGated(pod.body()) && !IsOperand(pod.body()))
      return Error::AlreadyExists("pod " + kube::KeyOf(pod).ToString() + " is gated");
    waiting.erase(pod.metadata().uid());
  }
  // Of those that the watch has not seen going, because its version had expired.
  for (const auto& [uid, name] : waiting) waits_.Saw(uid, name, false, Now());
  return Ok();
}

void Run::AwaitQuiet() {
  const milliseconds ended = Now();
  Result<> quiet = Ok();
  do {
    Step();
    quiet = IsQuiet();
    report_.quiet_after = Now() - ended;
    if (quiet) return;
  } while (report_.quiet_after < kQuiet);
  Violated(
      "I3: " + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(kQuiet).count()) +
      " s after the last fault: " + quiet.error().ToString());
}

void Run::CheckProbes() {
  ProcessCluster& cluster = stage_.cluster();
  const std::vector<kube::ObjectKey> probes = users_->CreateProbes();
  const milliseconds begin = Now();
  std::string waiting;
  size_t placed = 0;
  do {
    Step();
    waiting.clear();
    placed = 0;
    for (const kube::ObjectKey& key : probes) {
      auto pod = cluster.Run(kube::GetObject(cluster.client(), kPods, key));
      // A namespace whose creation got no answer may not exist.
      if (IsNotFound(pod)) continue;
      if (!pod || IsGated(pod->body())) {
        waiting += " " + key.ToString();
      } else {
        ++placed;
      }
    }
    if (waiting.empty() && placed > 0) return;
  } while (Now() - begin < kProbe);
  Violated("I3: new pods wait after the last fault:" + waiting +
           "; placed: " + std::to_string(placed));
}

void Run::CheckRemoval() {
  Result<> deleted = users_->DeleteAll(kRemoval);
  if (!deleted) Violated("I7: a deletion does not end: " + deleted.error().ToString());
  const milliseconds begin = Now();
  Result<std::string> left = std::string();
  do {
    Step();
    left = ObjectsOfOperator(stage_.cluster(), {.operator_runs = true});
    if (left && left->empty()) return;
  } while (Now() - begin < kRemoval);
  Violated("I7: objects are left: " + (left ? *left : left.error().ToString()));
}

void Run::CheckExits() {
  for (const auto& [pod, status] : stage_.kubelet().Exits()) {
    if (status == 128 + SIGKILL) {
      ++report_.counts["processes of the operator killed"];
    } else if (IsCrash(status)) {
      Violated("crash: " + pod + " ended with status " + std::to_string(status));
    } else {
      ++report_
            .counts["processes of the operator that ended with status " + std::to_string(status)];
    }
  }
  for (const auto& [program, times] : stage_.control_plane_restarts())
    report_.counts["ended by itself: " + program] = static_cast<uint64_t>(times);
}

sim::checker::Facts Run::FactsOfRun() const {
  sim::checker::Facts facts;
  facts.operator_namespace = stage_.cluster().operator_namespace();
  for (const auto& [name, architectures] : Platforms()) {
    sim::checker::Image image;
    for (const std::string& architecture : architectures)
      image.platforms.push_back({"linux", architecture});
    facts.images.SetPlatforms(Stage::Image(name), Time(0), image);
  }
  // Any fault may also delay a request to the registry beyond its timeout.
  facts.images.SetRegistry(ChaosNetwork::RegistryAddress(), recorded_before_,
                           sim::checker::Registry::kFlaky);
  facts.controller_ends = controller_ends_;

  milliseconds longest{0};
  for (const PlannedFault& fault : timeline()) longest = std::max(longest, fault.end - fault.begin);
  sim::checker::Timing& timing = facts.timing;
  timing.watch_lag += longest + 60s;
  timing.admission_lag += longest + 60s;
  timing.inspection_lag += longest;
  timing.rights_lag += longest;
  return facts;
}

void Run::JudgeRecording() {
  ProcessCluster& cluster = stage_.cluster();
  Result<> synced = cluster.Run(recorder_.Sync(kSync));
  if (!synced) {
    std::printf("the recording may lack writers: %s\n", synced.error().ToString().c_str());
    ++report_.not_judged["the recording did not become complete"];
  }
  const Recorded recorded = recorder_.Take();
  if (!options_.recording.empty()) {
    std::ofstream file(options_.recording, std::ios::trunc);
    RecordingWriter writer(file);
    writer.Write(recorded);
  }
  const Verdict verdict = JudgeRun(recorded, FactsOfRun());
  for (const Finding& finding : verdict.violations) {
    std::string text = sim::checker::Describe(finding.violation);
    for (const std::string& line : finding.story) text += "\n    " + line;
    Violated(text);
  }
  report_.counts["commits"] = verdict.commits;
  report_.counts["pods judged"] = verdict.pods_judged;
  for (const auto& [reason, count] : verdict.not_judged) report_.not_judged[reason] += count;
  for (const Gap& gap : recorded.gaps) ++report_.not_judged["gap of " + gap.plural];
  if (verdict.pods_judged == 0) Violated("the judge has judged no pod");
}

}  // namespace e2e
