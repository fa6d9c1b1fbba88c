// SPDX-License-Identifier: Apache-2.0
#include "plugin/report/report_text.h"

#include <array>
#include <cstdio>
#include <utility>

#include "plugin/pod/answer_parts.h"
#include "plugin/text/table.h"

namespace plugin {
namespace {

using kube::Json;

constexpr size_t kAllImages = static_cast<size_t>(-1);

std::string DescribeMoney(double amount) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.2f", amount);
  return text.data();
}

std::string Number(size_t number) { return std::to_string(number); }

std::string SayNodes(const Report& report) {
  Table table({"NODES OF", "NODES", "PODS", "CPU", "REQUESTED", "MEMORY GiB", "REQUESTED"});
  for (const ArchitectureLine& line : report.architectures)
    table.Add({line.architecture.empty() ? "unknown" : line.architecture, Number(line.nodes),
               Number(line.pods), DescribeCpu(line.allocatable.cpu),
               DescribeCpu(line.requested.cpu), DescribeMemory(line.allocatable.memory),
               DescribeMemory(line.requested.memory)});
  return table.ToText();
}

std::string SayFates(const Report& report) {
  Table table({"ON " + report.architecture, "PODS", "CPU", "MEMORY GiB"});
  for (size_t i = 0; i < kFates; ++i) {
    const FateLine& line = report.fates[i];
    if (line.pods == 0) continue;
    table.Add({std::string(NameOf(static_cast<Fate>(i))), Number(line.pods),
               DescribeCpu(line.requests.cpu), DescribeMemory(line.requests.memory)});
  }
  return table.ToText();
}

std::string SayWorkloads(const std::vector<WorkloadLine>& lines, const std::string& architecture,
                         bool wide) {
  Table::Row header = {"NAMESPACE",  "WORKLOAD",           "PODS",
                       "RUNS ON",    "IMAGES ARE FOR",     "CPU",
                       "MEMORY GiB", "ON " + architecture, "WHY"};
  if (wide) header.insert(header.begin() + 2, "OWNER");
  Table table(header);
  for (const WorkloadLine& line : lines) {
    Table::Row row = {line.ns,
                      line.kind + " " + line.name,
                      Number(line.pods),
                      DescribeRunsOn(line),
                      placement::Join(line.can_run_on),
                      DescribeCpu(line.requests.cpu),
                      DescribeMemory(line.requests.memory),
                      std::string(NameOf(line.fate)),
                      DescribeReason(line, architecture, wide ? kAllImages : 1)};
    if (wide) row.insert(row.begin() + 2, line.owner);
    table.Add(std::move(row));
  }
  return table.ToText();
}

Json AsJson(const Amount& amount) { return {{"cpu", amount.cpu}, {"memoryBytes", amount.memory}}; }

Json AsJson(const WorkloadLine& line) {
  Json json = {{"namespace", line.ns},      {"kind", line.kind},
               {"name", line.name},         {"owner", line.owner},
               {"pods", line.pods},         {"requests", AsJson(line.requests)},
               {"runsOn", Json::object()},  {"imagesAreFor", line.can_run_on},
               {"fate", NameOf(line.fate)}, {"images", Json::array()}};
  for (const auto& [architecture, pods] : line.runs_on) json["runsOn"][architecture] = pods;
  for (const HeldBackImage& image : line.images) {
    Json one = {{"image", image.image}, {"platforms", image.platforms}, {"newer", image.newer}};
    json["images"].push_back(std::move(one));
  }
  return json;
}

}  // namespace

std::string DescribeRunsOn(const WorkloadLine& line) {
  std::string text;
  for (const auto& [architecture, pods] : line.runs_on) {
    text += (text.empty() ? "" : ", ") + (architecture.empty() ? "no node" : architecture) + " " +
            std::to_string(pods);
  }
  return text;
}

std::string DescribeReason(const WorkloadLine& line, const std::string& architecture,
                           size_t images_shown) {
  std::string text;
  for (size_t i = 0; i < std::min(line.images.size(), images_shown); ++i) {
    const HeldBackImage& image = line.images[i];
    text += (text.empty() ? "" : "; ") + image.image +
            (image.platforms.empty() ? " is not known" : " is for " + image.platforms);
    if (!image.newer.empty()) text += ", " + image.newer + " has " + architecture;
  }
  if (line.images.size() > images_shown)
    text += " and " + std::to_string(line.images.size() - images_shown) + " more";
  return text;
}

std::string Say(const Report& report, bool wide, Style style) {
  std::string text = SayNodes(report) + "\n" + SayFates(report);
  if (report.cost_now)
    text += "\nA month of what could run there costs " + DescribeMoney(*report.cost_now) +
            " now, and " + DescribeMoney(*report.cost_there) + " there.\n";
  text += "\n" + SayWorkloads(report.workloads, report.architecture, wide);
  if (!report.daemon_sets.empty())
    text += "\n" + style.Bold("DaemonSets that may not run on new nodes:") + "\n" +
            SayWorkloads(report.daemon_sets, report.architecture, wide);
  if (!report.unread.empty()) text += "\n" + Say(report.unread, style);
  return text;
}

std::string AsCsv(const Report& report) {
  Table table({"namespace", "kind", "name", "owner", "pods", "runs on", "images are for", "cpu",
               "memory GiB", "on " + report.architecture, "why"});
  for (const auto* lines : {&report.workloads, &report.daemon_sets}) {
    for (const WorkloadLine& line : *lines)
      table.Add({line.ns, line.kind, line.name, line.owner, Number(line.pods), DescribeRunsOn(line),
                 placement::Join(line.can_run_on), DescribeCpu(line.requests.cpu),
                 DescribeMemory(line.requests.memory), std::string(NameOf(line.fate)),
                 DescribeReason(line, report.architecture, kAllImages)});
  }
  return table.ToCsv();
}

namespace {

// All but the lines of workloads.
Json SumsAsJson(const Report& report) {
  Json json = {{"architecture", report.architecture},
               {"architectures", Json::array()},
               {"fates", Json::array()},
               {"leftOut", report.left_out},
               {"unread", AsJson(report.unread)}};
  for (const ArchitectureLine& line : report.architectures) {
    Json one = {{"architecture", line.architecture},
                {"nodes", line.nodes},
                {"pods", line.pods},
                {"allocatable", AsJson(line.allocatable)},
                {"requested", AsJson(line.requested)}};
    json["architectures"].push_back(std::move(one));
  }
  for (size_t i = 0; i < kFates; ++i) {
    Json one = {{"fate", NameOf(static_cast<Fate>(i))},
                {"pods", report.fates[i].pods},
                {"requests", AsJson(report.fates[i].requests)}};
    json["fates"].push_back(std::move(one));
  }
  if (report.cost_now) json["monthly"] = {{"now", *report.cost_now}, {"there", *report.cost_there}};
  return json;
}

std::string AsJsonText(const std::vector<WorkloadLine>& lines) {
  std::string text = "[";
  for (const WorkloadLine& line : lines) {
    if (text.size() > 1) text += ",";
    text += kube::DumpJson(AsJson(line));
  }
  return text + "]";
}

}  // namespace

Json AsJson(const Report& report) {
  Json json = SumsAsJson(report);
  json["workloads"] = json["daemonSets"] = Json::array();
  for (const WorkloadLine& line : report.workloads) json["workloads"].push_back(AsJson(line));
  for (const WorkloadLine& line : report.daemon_sets) json["daemonSets"].push_back(AsJson(line));
  return json;
}

std::string AsJsonText(const Report& report) {
  std::string text = kube::DumpJson(SumsAsJson(report));
  text.pop_back();
  text += ",\"workloads\":" + AsJsonText(report.workloads);
  text += ",\"daemonSets\":" + AsJsonText(report.daemon_sets) + "}";
  return text;
}

}  // namespace plugin
