// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/measurement.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace benchmarks {
namespace {

using kube::Error;
using kube::Json;
using kube::Ok;
using kube::Result;

double Millis(kube::Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// `share` between 0 and 1 of the sorted `times`.
double Quantile(const std::vector<kube::Duration>& times, double share) {
  if (times.empty()) return 0;
  return Millis(times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))]);
}

double MiB(long kb) { return static_cast<double>(kb) / 1024; }

Json ToJson(const Costs& costs) {
  Json json = Json::object();
  for (const auto& [name, cost] : costs) {
    json[name] = {{"rss_mb", MiB(cost.rss_kb)},
                  {"private_mb", MiB(cost.own_rss_kb)},
                  {"peak_rss_mb", MiB(cost.peak_rss_kb)}};
  }
  return json;
}

Json ToJson(const Times& times) { return {{"p50", times.p50_ms}, {"p99", times.p99_ms}}; }

// The value of the first line of `path` that starts with `key`.
std::string ValueIn(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

}  // namespace

Times Times::Of(const std::vector<kube::Duration>& sorted) {
  return {.p50_ms = Quantile(sorted, 0.5), .p99_ms = Quantile(sorted, 0.99)};
}

Json Measurement::ToJson() const {
  using benchmarks::ToJson;
  Json json = {{"seconds", seconds}};
  if (pods > 0) json["pods"] = pods;
  if (pods_per_second > 0) json["pods_per_second"] = pods_per_second;
  if (from_call) json["from_call_ms"] = ToJson(*from_call);
  if (from_response) json["from_response_ms"] = ToJson(*from_response);
  if (!plane_cpu_ms.empty()) json["plane_cpu_ms"] = plane_cpu_ms;
  if (!plane_cpu_ms_with_events.empty())
    json["plane_cpu_ms_with_events"] = plane_cpu_ms_with_events;
  if (!cpu_ms.empty()) json["cpu_ms"] = cpu_ms;
  for (const auto& [when, costs] : memory) json["memory"][when] = ToJson(costs);
  if (events_expected > 0) {
    json["events"] = {{"expected", events_expected}, {"seen", events}, {"seconds", events_seconds}};
  }
  for (const auto& [name, rest] : at_rest)
    json["at_rest"][name] = {{"cpu_ms", rest.cpu_ms}, {"wakeups", rest.wakeups}};
  if (!requests.empty()) json["requests"] = requests;
  return json;
}

std::map<std::string, double> CpuPerPod(const Costs& before, const Costs& after, int pods) {
  std::map<std::string, double> each;
  for (const auto& [name, cost] : after) {
    auto earlier = before.find(name);
    auto cpu = earlier == before.end() ? cost.cpu : cost.cpu - earlier->second.cpu;
    each[name] = Millis(cpu) / pods;
  }
  return each;
}

Results::Results(std::string path, Json about)
    : path_(std::move(path)),
      json_({{"about", std::move(about)}, {"measurements", Json::array()}}),
      start_(kube::RealClock().Now()) {}

Result<> Results::Add(Json where, const Measurement& measurement) {
  std::fprintf(stderr, "%s:", LineOf(where).c_str());
  if (measurement.pods_per_second > 0)
    std::fprintf(stderr, " %.0f pods/s", measurement.pods_per_second);
  if (measurement.from_call) {
    std::fprintf(stderr, ", ungated after %.1f ms (p99 %.1f ms)", measurement.from_call->p50_ms,
                 measurement.from_call->p99_ms);
  }
  if (measurement.events_expected > 0)
    std::fprintf(stderr, ", %d of %d events", measurement.events, measurement.events_expected);
  std::fprintf(stderr, "\n");

  Json entry = measurement.ToJson();
  entry.update(where);
  return Write(std::move(entry));
}

Result<> Results::Add(Json entry) {
  std::fprintf(stderr, "%s\n", LineOf(entry).c_str());
  return Write(std::move(entry));
}

std::string Results::LineOf(const Json& where) const {
  char time[32];
  double now = Millis(kube::RealClock().Now() - start_) / 1000;
  std::snprintf(time, sizeof time, "%5.0f s", now);
  std::string line = std::string(time) + ":";
  for (const auto& [key, value] : where.items()) {
    if (key == "title") continue;
    line +=
        " " + key + "=" + (value.is_string() ? value.get<std::string>() : kube::DumpJson(value));
  }
  return line;
}

Result<> Results::Write(Json entry) {
  json_["measurements"].push_back(std::move(entry));
  if (path_.empty()) return Ok();
  std::ofstream file(path_);
  file << kube::PrettyJson(json_) << "\n";
  file.close();
  if (!file) return Error::Unavailable("cannot write " + path_);
  return Ok();
}

Json AboutThisMachine() {
  utsname system{};
  uname(&system);
  return {
      {"date", kube::FormatTime(kube::RealClock().WallNow())},
      {"processor", ValueIn("/proc/cpuinfo", "model name")},
      {"processors", sysconf(_SC_NPROCESSORS_ONLN)},
      {"memory_mb", MiB(std::strtol(ValueIn("/proc/meminfo", "MemTotal").c_str(), nullptr, 10))},
      {"kernel", system.release}};
}

}  // namespace benchmarks
