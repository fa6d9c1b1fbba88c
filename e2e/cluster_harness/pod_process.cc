// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/pod_process.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "e2e/cluster_harness/probe.h"
#include "e2e/framework/resources.h"
#include "kube/client/typed.h"

namespace e2e {

using namespace std::chrono_literals;
using kube::Async;
using kube::Error;
using kube::IsNotFound;
using kube::Ok;
using kube::Result;

namespace {

constexpr auto kTurn = 50ms;
constexpr auto kRefreshVolumesEvery = 1s;
constexpr auto kProbeReadyEvery = 500ms;
constexpr auto kFirstRestart = 200ms;
constexpr auto kLastRestart = 5s;

// Replaces "$(NAME)" by the environment's value, as Kubernetes does in arguments.
std::string Expand(std::string text, const std::map<std::string, std::string>& environment) {
  for (const auto& [name, value] : environment) {
    std::string variable = "$(" + name + ")";
    size_t at = text.find(variable);
    if (at != std::string::npos) text.replace(at, variable.size(), value);
  }
  return text;
}

}  // namespace

PodProcess::PodProcess(kube::Client& client, kube::Clock& clock, const ControlPlane& plane,
                       Json pod, Options options)
    : client_(client),
      clock_(clock),
      plane_(plane),
      pod_(std::move(pod)),
      options_(std::move(options)),
      ns_(kube::StringAt(pod_, "metadata.namespace")),
      name_(kube::StringAt(pod_, "metadata.name")),
      volumes_(client, pod_, options_.ip, options_.folder) {
  std::filesystem::create_directories(options_.folder);
}

boost::asio::awaitable<void> PodProcess::Run() {
  co_await kube::IgnoreCancellation();
  kube::TimePoint next_refresh{};
  kube::TimePoint next_probe{};
  bool has_volumes = false;
  while (!grace_ && !deleted_) {
    kube::TimePoint now = clock_.Now();
    if (now >= next_refresh) {
      Result<> refreshed = co_await volumes_.Refresh();
      has_volumes = has_volumes || refreshed.has_value();
      if (!refreshed && !has_volumes) waiting_message_ = refreshed.error().ToString();
      next_refresh = now + kRefreshVolumesEvery;
    }
    ReapIfEnded();
    if (process_ == nullptr && has_volumes && now >= start_after_) {
      Result<> started = Start();
      if (!started) waiting_message_ = started.error().ToString();
    }
    if (process_ != nullptr && (!ready_ || now >= next_probe)) {
      Result<bool> answered = co_await Probe();
      SetReady(answered.has_value() && *answered && process_ != nullptr);
      next_probe = now + kProbeReadyEvery;
    }
    Result<> reported = co_await Report();
    if (FailedWith(reported, kube::Code::kCancelled)) co_return;
    Result<> slept = co_await clock_.Sleep(kTurn);
    if (!slept) co_return;
  }
  Result<> stopped = co_await Stop();
  kube::IgnoreError(stopped, "the process may have ended");
}

Result<> PodProcess::Start() {
  if (limit_ == nullptr && memory_limit() > 0) limit_ = MemoryLimit::Make(memory_limit());
  auto started = ChildProcess::Start({.path = options_.program,
                                      .args = Arguments(),
                                      .env = Environment(),
                                      .log_file = log_file(),
                                      .cgroup = limit_ == nullptr ? "" : limit_->procs_file(),
                                      .data_bytes = limit_ == nullptr ? 0 : limit_->data_bytes()});
  if (!started) return started.error();
  process_ = std::move(*started);
  started_at_ = kube::FormatTime(clock_.WallNow());
  return Ok();
}

int64_t PodProcess::memory_limit() const {
#ifdef BUILT_WITH_SANITIZER
  return 0;  // it takes some times as much
#else
  return ParseMemory(kube::StringAt(container(), "resources.limits.memory"));
#endif
}

std::vector<std::string> PodProcess::Arguments() const {
  std::map<std::string, std::string> environment = Environment();
  std::vector<std::string> arguments;
  for (const char* list : {"command", "args"}) {
    const Json values = container().value(list, Json::array());
    // The image defines the program, with or without a command.
    for (size_t i = list == std::string("command") ? 1 : 0; i < values.size(); ++i) {
      std::string argument = Expand(values[i].get<std::string>(), environment);
      arguments.push_back(AtOwnAddress(volumes_.Translate(argument)));
    }
  }
  // All pods share one network here, so flags with default ports need the pod's own address.
  for (const auto& [port, flag] :
       {std::pair("health", "--health-address="), std::pair("metrics", "--health-address="),
        std::pair("webhook", "--address=")}) {
    bool said = std::any_of(
        arguments.begin(), arguments.end(),
        [flag = flag](const std::string& argument) { return argument.starts_with(flag); });
    for (const Json& entry : container().value("ports", Json::array())) {
      if (said || kube::StringAt(entry, "name") != port) continue;
      arguments.push_back(flag + options_.ip + ":" +
                          std::to_string(kube::IntAt(entry, "containerPort")));
    }
  }
  return arguments;
}

std::string PodProcess::AtOwnAddress(std::string argument) const {
  size_t value = argument.find('=');
  if (value == std::string::npos) return argument;
  for (std::string_view any : {"0.0.0.0:", "[::]:", ":"}) {
    if (argument.compare(value + 1, any.size(), any) == 0) {
      return argument.replace(value + 1, any.size(), options_.ip + ":");
    }
  }
  return argument;
}

std::map<std::string, std::string> PodProcess::Environment() const {
  std::map<std::string, std::string> environment = {
      {"KUBERNETES_SERVICE_HOST", plane_.host_for_pods()},
      {"KUBERNETES_SERVICE_PORT", std::to_string(plane_.port())},
      {"HOSTNAME", name_},
      {"HOME", options_.folder},
  };
  for (const Json& entry : container().value("env", Json::array())) {
    std::string field = kube::StringAt(entry, "valueFrom.fieldRef.fieldPath");
    environment[kube::StringAt(entry, "name")] = volumes_.Translate(
        field.empty() ? kube::StringAt(entry, "value") : volumes_.FieldOfPod(field));
  }
  // In a container the token has a fixed path; here a kubeconfig names it.
  std::string token_folder = volumes_.TokenFolder();
  if (!token_folder.empty()) {
    std::string kubeconfig = options_.folder + "/kubeconfig";
    if (plane_.WritePodKubeconfig(kubeconfig, token_folder + "/token"))
      environment["KUBECONFIG"] = kubeconfig;
  }
  if (options_.environment != nullptr) {
    for (const auto& [name, value] : *options_.environment) environment[name] = value;
  }
  return environment;
}

Async<bool> PodProcess::Probe() {
  const Json* probe = kube::Find(container(), "readinessProbe.httpGet");
  if (probe == nullptr) co_return true;
  int port = static_cast<int>(kube::IntAt(*probe, "port"));
  for (const Json& entry : container().value("ports", Json::array())) {
    if (kube::StringAt(entry, "name") == kube::StringAt(*probe, "port", "?")) {
      port = static_cast<int>(kube::IntAt(entry, "containerPort"));
    }
  }
  std::string path = kube::StringAt(*probe, "path", "/");
  Result<int> status = co_await ProbeHttp(options_.ip, port, path, 500ms);
  co_return status.has_value() && *status >= 200 && *status < 400;
}

void PodProcess::SetReady(bool ready) {
  if (ready_ == ready && !ready_since_.empty()) return;
  ready_ = ready;
  ready_since_ = kube::FormatTime(clock_.WallNow());
}

void PodProcess::ReapIfEnded() {
  if (process_ == nullptr || !process_->ExitStatus()) return;
  exits_.push_back(*process_->ExitStatus());
  waiting_for_ = "CrashLoopBackOff";
  waiting_message_ = "the process ended with status " + std::to_string(*process_->ExitStatus());
  process_.reset();
  SetReady(false);
  auto delay =
      std::min<kube::Duration>(kFirstRestart * (1 << std::min(restarts_, 10)), kLastRestart);
  start_after_ = clock_.Now() + delay;
  ++restarts_;
}

void PodProcess::Crash() {
  if (process_ != nullptr) process_->Signal(SIGKILL);
}

void PodProcess::Terminate(std::chrono::seconds grace) {
  if (!grace_) grace_ = grace;
}

Result<pid_t> PodProcess::pid() const {
  if (process_ == nullptr) return Error::NotFound("no process runs for pod " + ns_ + "/" + name_);
  return process_->pid();
}

Async<> PodProcess::Stop() {
  if (process_ != nullptr && deleted_) process_.reset();
  if (process_ != nullptr) {
    process_->Signal(SIGTERM);
    kube::TimePoint deadline = clock_.Now() + grace_.value_or(0s);
    while (!process_->ExitStatus() && clock_.Now() < deadline && !deleted_) {
      Result<> slept = co_await clock_.Sleep(10ms);
      if (!slept) break;
    }
    process_->Signal(SIGKILL);
    while (!process_->ExitStatus()) {
      Result<> slept = co_await clock_.Sleep(5ms);
      if (!slept) break;
    }
    last_stop_ = process_->ExitStatus();
    process_.reset();
  }
  if (deleted_) co_return Ok();
  // Until the API server has answered: nobody else deletes the object.
  while (true) {
    kube::ApiRequest request{.method = kube::Method::kDelete, .target = kPods.Path(ns_, name_)};
    kube::AddQuery(request.target, "gracePeriodSeconds", "0");
    auto deleted = co_await client_.Call(std::move(request));
    if (deleted || IsNotFound(deleted)) co_return Ok();
    Result<> slept = co_await clock_.Sleep(500ms);
    if (!slept) co_return slept.error();
  }
}

Json PodProcess::Status() const {
  Json state;
  if (process_ != nullptr) {
    state["running"]["startedAt"] = started_at_;
  } else {
    state["waiting"] = {{"reason", waiting_for_}, {"message", waiting_message_}};
  }
  std::string yes_no = ready_ ? "True" : "False";
  Json conditions = Json::array({{{"type", "Initialized"}, {"status", "True"}},
                                 {{"type", "ContainersReady"}, {"status", yes_no}},
                                 {{"type", "Ready"}, {"status", yes_no}}});
  // A Deployment with minReadySeconds counts from it.
  if (!ready_since_.empty()) conditions.back()["lastTransitionTime"] = ready_since_;
  Json container_status = {{"name", container()["name"]},
                           {"image", container()["image"]},
                           {"imageID", container()["image"]},
                           {"ready", ready_},
                           {"restartCount", restarts_},
                           {"started", process_ != nullptr},
                           {"state", state}};
  return {{"phase", process_ == nullptr && restarts_ == 0 ? "Pending" : "Running"},
          {"podIP", options_.ip},
          {"podIPs", Json::array({{{"ip", options_.ip}}})},
          {"conditions", conditions},
          {"containerStatuses", Json::array({container_status})}};
}

Async<> PodProcess::Report() {
  Json status = Status();
  if (status == reported_) co_return Ok();
  Json patch = {{"status", status}};
  kube::ObjectKey key{ns_, name_};
  std::string subresource = "status";
  auto patched = co_await kube::PatchObject(client_, kPods, key, kube::kStrategicMergePatch,
                                            std::move(patch), std::move(subresource));
  if (IsNotFound(patched)) deleted_ = true;
  if (!patched) co_return patched.error();
  reported_ = std::move(status);
  co_return Ok();
}

}  // namespace e2e
