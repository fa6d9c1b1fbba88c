// SPDX-License-Identifier: Apache-2.0
#include "plugin/report/report_html.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <vector>

#include "plugin/report/report_text.h"
#include "plugin/text/printable.h"

namespace plugin {
namespace {

constexpr size_t kAllImages = static_cast<size_t>(-1);

// The colours have enough contrast with both backgrounds.
constexpr char kHead[] = R"(<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root { color-scheme: light dark; --bar: #2a6fb0; --rest: #8884; --line: #8886; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { position: sticky; top: 0; background: Canvas; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { background: var(--rest); height: .8rem; min-width: 8rem; }
.bar span { background: var(--bar); display: block; height: 100%; }
code { font-size: .9em; overflow-wrap: anywhere; }
</style>
)";

// Text of other people: also within attributes.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (char c : Printable(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string Cell(const std::string& text) { return "<td>" + Escaped(text) + "</td>"; }
std::string NumberCell(const std::string& text) { return "<td class=n>" + Escaped(text) + "</td>"; }

// `label`: for screen readers.
std::string BarCell(double part, double all, const std::string& label) {
  const double share = all <= 0 ? 0 : std::clamp(part / all, 0.0, 1.0);
  std::array<char, 32> percent{};
  std::snprintf(percent.data(), percent.size(), "%.1f%%", 100 * share);
  return "<td><div class=bar role=img aria-label=\"" + Escaped(label) + ": " + percent.data() +
         "\"><span style=\"width:" + percent.data() + "\"></span></div></td>";
}

std::string Head(const std::vector<std::string>& titles) {
  std::string row = "<thead><tr>";
  for (const std::string& title : titles) row += "<th scope=col>" + Escaped(title) + "</th>";
  return row + "</tr></thead>\n";
}

std::string Nodes(const Report& report) {
  std::string html =
      "<h2>Nodes</h2>\n<table>" + Head({"Architecture", "Nodes", "Pods", "CPU", "CPU requested", "",
                                        "Memory GiB", "Memory requested", ""});
  for (const ArchitectureLine& line : report.architectures) {
    const std::string name = line.architecture.empty() ? "unknown" : line.architecture;
    html += "<tr>" + Cell(name) + NumberCell(std::to_string(line.nodes)) +
            NumberCell(std::to_string(line.pods)) + NumberCell(DescribeCpu(line.allocatable.cpu)) +
            NumberCell(DescribeCpu(line.requested.cpu)) +
            BarCell(line.requested.cpu, line.allocatable.cpu, "CPU requested of " + name) +
            NumberCell(DescribeMemory(line.allocatable.memory)) +
            NumberCell(DescribeMemory(line.requested.memory)) +
            BarCell(line.requested.memory, line.allocatable.memory, "memory requested of " + name) +
            "</tr>\n";
  }
  return html + "</table>\n";
}

std::string Fates(const Report& report) {
  Amount all;
  for (const FateLine& line : report.fates) all += line.requests;
  std::string html = "<h2>On " + Escaped(report.architecture) + "</h2>\n<table>" +
                     Head({"Pods that", "Pods", "CPU", "", "Memory GiB", ""});
  for (size_t i = 0; i < kFates; ++i) {
    const FateLine& line = report.fates[i];
    if (line.pods == 0) continue;
    const std::string name(NameOf(static_cast<Fate>(i)));
    html += "<tr>" + Cell(name) + NumberCell(std::to_string(line.pods)) +
            NumberCell(DescribeCpu(line.requests.cpu)) +
            BarCell(line.requests.cpu, all.cpu, "CPU that " + name) +
            NumberCell(DescribeMemory(line.requests.memory)) +
            BarCell(line.requests.memory, all.memory, "memory that " + name) + "</tr>\n";
  }
  return html + "</table>\n";
}

std::string Workloads(const std::string& title, const std::vector<WorkloadLine>& lines,
                      const std::string& architecture) {
  std::string html = "<h2>" + Escaped(title) + "</h2>\n<table>" +
                     Head({"Namespace", "Workload", "Owner", "Pods", "Runs on", "Images are for",
                           "CPU", "Memory GiB", "On " + architecture, "Why"});
  for (const WorkloadLine& line : lines)
    html += "<tr>" + Cell(line.ns) + Cell(line.kind + " " + line.name) + Cell(line.owner) +
            NumberCell(std::to_string(line.pods)) + Cell(DescribeRunsOn(line)) +
            Cell(placement::Join(line.can_run_on)) + NumberCell(DescribeCpu(line.requests.cpu)) +
            NumberCell(DescribeMemory(line.requests.memory)) +
            Cell(std::string(NameOf(line.fate))) + "<td><code>" +
            Escaped(DescribeReason(line, architecture, kAllImages)) + "</code></td></tr>\n";
  return html + "</table>\n";
}

}  // namespace

std::string AsHtml(const Report& report, kube::WallTime now) {
  const std::string title = "What could run on " + report.architecture;
  std::string html = std::string(kHead) + "<title>" + Escaped(title) +
                     "</title>\n</head>\n<body>\n" + "<h1>" + Escaped(title) + "</h1>\n<p>" +
                     kube::FormatTime(now) + "</p>\n";
  for (const Unread& part : report.unread)
    html += "<p>Not read: " + Escaped(part.what + ": " + part.why) + "</p>\n";
  html +=
      Nodes(report) + Fates(report) + Workloads("Workloads", report.workloads, report.architecture);
  if (!report.daemon_sets.empty())
    html += Workloads("DaemonSets that may not run on new nodes", report.daemon_sets,
                      report.architecture);
  return html + "</body>\n</html>\n";
}

}  // namespace plugin
