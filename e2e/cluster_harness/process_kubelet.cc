// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/process_kubelet.h"

#include <sstream>

#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::ObjectKey;
using kube::Result;

namespace {

// "registry:5000/pod-placement/shard:0123" -> "shard"
std::string ProgramOfImage(const std::string& image) {
  size_t name = image.rfind('/') + 1;
  return image.substr(name, image.find_first_of(":@", name) - name);
}

// "registry:5000/pod-placement/shard:0123" -> "shard:0123"
std::string NameAndTag(const std::string& image) { return image.substr(image.rfind('/') + 1); }

std::string ImageOf(const Json& pod) {
  const Json* containers = kube::Find(pod, "spec.containers");
  return containers == nullptr || containers->empty() ? ""
                                                      : kube::StringAt((*containers)[0], "image");
}

// Whether the call had no answer, or no useful one, as while the API server is down.
template <class T>
bool MayBeRepeated(const Result<T>& answer) {
  return FailedWith(answer, kube::Code::kUnavailable) ||
         FailedWith(answer, kube::Code::kDeadlineExceeded) ||
         FailedWith(answer, kube::Code::kThrottled);
}

// Running, or waiting with the reason `waiting_for`.
Json StatusOfOtherPod(const Json& pod, const char* waiting_for) {
  Json status;
  for (const char* type : {"Ready", "ContainersReady"}) {
    status["conditions"].push_back(
        {{"type", type}, {"status", waiting_for == nullptr ? "True" : "False"}});
  }
  status["phase"] = waiting_for == nullptr ? "Running" : "Pending";
  if (waiting_for == nullptr) return status;
  const Json& container = pod["spec"]["containers"][0];
  Json waiting = {{"name", container["name"]},
                  {"image", container["image"]},
                  {"imageID", ""},
                  {"ready", false},
                  {"restartCount", 0}};
  waiting["state"]["waiting"] = {{"reason", waiting_for}, {"message", "set by the test"}};
  status["containerStatuses"].push_back(waiting);
  return status;
}

}  // namespace

ProcessKubelet::ProcessKubelet(kube::Client& client, kube::Clock& clock, kube::Executor executor,
                               const ControlPlane& plane, Options options)
    : client_(client),
      clock_(clock),
      plane_(plane),
      options_(std::move(options)),
      follower_(client, clock, kPods, {.field_selector = "spec.nodeName!="},
                [this](const std::string& type, const Json& pod) { OnPod(type, pod); }),
      tasks_(std::move(executor)) {}

boost::asio::awaitable<void> ProcessKubelet::Run() {
  co_await kube::IgnoreCancellation();
  tasks_.Spawn("other-pods", ReportOtherPods());
  co_await follower_.Run();
  Result<> stopped = co_await tasks_.Stop(clock_, 5s);
  kube::IgnoreError(stopped, "the cluster ends");
  by_uid_.clear();
}

void ProcessKubelet::OnPod(const std::string& type, const Json& pod) {
  std::string program = ProgramOfImage(ImageOf(pod));
  if (options_.programs.contains(program)) {
    OnOperandPod(type, kube::StringAt(pod, "metadata.uid"), pod, program);
  } else if (type != "DELETED") {
    OnOtherPod(pod);
  }
}

void ProcessKubelet::OnOperandPod(const std::string& type, const std::string& uid, const Json& pod,
                                  const std::string& program) {
  auto known = by_uid_.find(uid);
  if (type == "DELETED") {
    ended_.erase(uid);
    pulling_.erase(uid);
    if (known != by_uid_.end()) known->second->OnDeleted();
    return;
  }
  bool deleting = !kube::StringAt(pod, "metadata.deletionTimestamp").empty();
  if (known == by_uid_.end() && !ended_.contains(uid)) {
    std::string ns = kube::StringAt(pod, "metadata.namespace");
    if (deleting || failing_images_.contains({program, ns})) {
      pulling_.insert_or_assign(uid, pod);
      OnOtherPod(pod, "ImagePullBackOff");
      return;
    }
    pulling_.erase(uid);
    auto other_release = options_.programs.find(NameAndTag(ImageOf(pod)));
    PodProcess::Options options{
        .program = other_release == options_.programs.end() ? options_.programs.at(program)
                                                            : other_release->second,
        .program_name = program,
        .ip = NextAddress(),
        .folder = options_.folder + "/" + ns + "_" + kube::StringAt(pod, "metadata.name"),
        .environment = &environments_[program]};
    auto process = std::make_unique<PodProcess>(client_, clock_, plane_, pod, std::move(options));
    known = by_uid_.emplace(uid, std::move(process)).first;
    tasks_.Spawn("pod " + ns + "/" + known->second->name(), RunPod(uid));
  }
  if (deleting && known != by_uid_.end()) {
    known->second->Terminate(
        std::chrono::seconds(kube::IntAt(pod, "metadata.deletionGracePeriodSeconds", 30)));
  }
}

boost::asio::awaitable<void> ProcessKubelet::RunPod(std::string uid) {
  PodProcess& process = *by_uid_.at(uid);
  co_await process.Run();
  if (process.last_stop())
    stops_.emplace_back(process.ns() + "/" + process.name(), *process.last_stop());
  for (int status : process.exits())
    exits_.emplace_back(process.ns() + "/" + process.name(), status);
  ended_.insert(uid);
  by_uid_.erase(uid);
}

std::vector<std::pair<std::string, int>> ProcessKubelet::Exits() const {
  std::vector<std::pair<std::string, int>> exits = exits_;
  for (const auto& [uid, process] : by_uid_) {
    for (int status : process->exits())
      exits.emplace_back(process->ns() + "/" + process->name(), status);
  }
  return exits;
}

void ProcessKubelet::OnOtherPod(const Json& pod, const char* waiting_for) {
  bool deleting = !kube::StringAt(pod, "metadata.deletionTimestamp").empty();
  bool reported = kube::Find(pod, "status.containerStatuses") != nullptr;
  if (deleting || (kube::StringAt(pod, "status.phase") == "Pending" && !reported))
    to_report_.push_back({pod, waiting_for});
}

boost::asio::awaitable<void> ProcessKubelet::ReportOtherPods() {
  co_await kube::IgnoreCancellation();
  while (true) {
    if (to_report_.empty()) {
      Result<> slept = co_await clock_.Sleep(20ms);
      if (!slept) co_return;
      continue;
    }
    auto [pod, waiting_for] = std::move(to_report_.front());
    to_report_.pop_front();
    ObjectKey key{kube::StringAt(pod, "metadata.namespace"), kube::StringAt(pod, "metadata.name")};
    if (!kube::StringAt(pod, "metadata.deletionTimestamp").empty()) {
      kube::ApiRequest request{.method = kube::Method::kDelete,
                               .target = kPods.Path(key.ns, key.name)};
      kube::AddQuery(request.target, "gracePeriodSeconds", "0");
      auto deleted = co_await client_.Call(std::move(request));
      if (!MayBeRepeated(deleted)) continue;
      to_report_.push_back({std::move(pod), waiting_for});
      Result<> slept = co_await clock_.Sleep(100ms);
      if (!slept) co_return;
      continue;
    }
    // A pod that has changed, for example because its process started, is reported by its own
    // event.
    Json metadata = {{"uid", kube::StringAt(pod, "metadata.uid")},
                     {"resourceVersion", kube::StringAt(pod, "metadata.resourceVersion")}};
    Json patch = {{"metadata", std::move(metadata)},
                  {"status", StatusOfOtherPod(pod, waiting_for)}};
    std::string subresource = "status";
    auto patched = co_await kube::PatchObject(client_, kPods, key, kube::kStrategicMergePatch,
                                              std::move(patch), std::move(subresource));
    // A pod that has changed since has an event of its own.
    if (!MayBeRepeated(patched)) continue;
    to_report_.push_back({std::move(pod), waiting_for});
    Result<> slept = co_await clock_.Sleep(100ms);
    if (!slept) co_return;
  }
}

std::string ProcessKubelet::NextAddress() {
  ++addresses_;
  return "10.250." + std::to_string(addresses_ / 250) + "." + std::to_string(1 + addresses_ % 250);
}

PodProcess* ProcessKubelet::Find(const ObjectKey& pod) {
  for (auto& [uid, process] : by_uid_) {
    if (process->ns() == pod.ns && process->name() == pod.name) return process.get();
  }
  return nullptr;
}

std::vector<PodProcess*> ProcessKubelet::OfProgram(const std::string& program,
                                                   const std::string& ns) {
  std::vector<PodProcess*> found;
  for (auto& [uid, process] : by_uid_) {
    if (process->program_name() == program && (ns.empty() || process->ns() == ns))
      found.push_back(process.get());
  }
  return found;
}

void ProcessKubelet::FailImagePulls(const std::string& program, const std::string& ns, bool fail) {
  if (fail) {
    failing_images_.insert({program, ns});
    return;
  }
  failing_images_.erase({program, ns});
  for (const auto& [uid, pod] : std::map(pulling_)) OnPod("MODIFIED", pod);
}

std::string ProcessKubelet::Describe(const std::string& ns) {
  std::ostringstream out;
  for (auto& [uid, process] : by_uid_) {
    if (process->ns() != ns) continue;
    out << "process of pod " << process->name() << " at " << process->ip() << ", "
        << process->restarts() << " restarts, " << (process->ready() ? "ready" : "not ready")
        << "; end of its log:\n"
        << process->LogTail() << "\n";
  }
  return out.str();
}

}  // namespace e2e
