// SPDX-License-Identifier: Apache-2.0
#include "e2e/chaos/run.h"

#include <algorithm>
#include <csignal>
#include <cstdio>

#include "e2e/cluster_harness/operator_objects.h"
#include "e2e/framework/pod_history.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"
#include "sim/checker/facts.h"

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
// While there are faults, the recording is taken in parts, which keeps it small.
constexpr auto kTakeEvery = 10s;
constexpr auto kTakePatience = 300ms;
// An API server that was killed never logs who has written last, so a part may stay incomplete.
constexpr int kMostIncomplete = 3;

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
  // Much more than a run records between two faults.
  RecorderOptions options{.max_bytes = uint64_t{1} << 30};
  for (size_t i = 0; i < plane.api_servers(); ++i) options.audit_logs.push_back(plane.audit_log(i));
  return options;
}

// What the judge is told, as far as it is known before the run.
sim::checker::Facts FactsOf(Stage& stage, const std::vector<FaultKind>& kinds) {
  sim::checker::Facts facts;
  facts.operator_namespace = stage.cluster().operator_namespace();
  for (const auto& [name, architectures] : Platforms()) {
    sim::checker::Image image;
    for (const std::string& architecture : architectures)
      image.platforms.push_back({"linux", architecture});
    facts.images.SetPlatforms(Stage::Image(name), Time(0), image);
  }
  // Any fault may also delay a request to the registry beyond its timeout.
  facts.images.SetRegistry(ChaosNetwork::RegistryAddress(), Time(0),
                           sim::checker::Registry::kFlaky);

  milliseconds longest{0};
  for (const FaultKind& kind : kinds) longest = std::max(longest, kind.outline.longest);
  sim::checker::Timing& timing = facts.timing;
  timing.watch_lag += longest + 60s;
  timing.admission_lag += longest + 60s;
  timing.inspection_lag += longest;
  timing.rights_lag += longest;
  return facts;
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
      tasks_(stage.cluster().io().get_executor()),
      judge_(FactsOf(stage, kinds_)) {
  if (!options_.recording.empty()) file_.open(options_.recording, std::ios::trunc);
}

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
    if (process->restarts() > known) judge_.facts().controller_ends.push_back(recorder_.now());
    known = process->restarts();
  }
  if (stage_.cluster().clock().Now() < next_take_) return;
  next_take_ = stage_.cluster().clock().Now() + kTakeEvery;
  Result<> complete = stage_.cluster().Run(recorder_.Sync(kTakePatience));
  if (complete || ++incomplete_ >= kMostIncomplete) TakeRecording();
}

void Run::TakeRecording() {
  incomplete_ = 0;
  const Recorded part = recorder_.Take();
  if (file_.is_open()) writer_.Write(part);
  judge_.Add(part);
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
    for (int i = 0; i < 10; ++i) Step();
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

void Run::JudgeRecording() {
  Result<> complete = stage_.cluster().Run(recorder_.Sync(kSync));
  if (!complete)
    std::printf("the recording lacks something: %s\n", complete.error().message().c_str());
  TakeRecording();
  const Verdict verdict = judge_.Take();
  std::printf("%s\n", verdict.Summary().c_str());
  for (const Finding& finding : verdict.violations) {
    std::string text = sim::checker::Describe(finding.violation);
    for (const std::string& line : finding.story) text += "\n    " + line;
    Violated(text);
  }
  report_.counts["commits"] = verdict.commits;
  report_.counts["pods judged"] = verdict.pods_judged;
  for (const auto& [reason, count] : verdict.not_judged) report_.not_judged[reason] += count;
  for (const Gap& gap : verdict.gaps) ++report_.not_judged["gap of " + gap.plural];
  if (verdict.pods_judged == 0) Violated("the judge has judged no pod");
}

}  // namespace e2e
