// SPDX-License-Identifier: Apache-2.0
#include "plugin/commands/status.h"

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "plugin/command/formats.h"
#include "plugin/status/read_status.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Result;

struct Asked {
  bool watches = false;
};

constexpr std::chrono::seconds kInterval{2};

Async<ExitCode> Run(Tool& tool, const Asked& asked) {
  Result<kube::Client*> client = tool.Connect();
  if (!client) co_return client.error();
  std::string before;
  while (true) {
    std::string ns = tool.ns();
    Result<StatusEvidence> evidence = co_await ReadStatus(**client, tool.clock(), std::move(ns));
    if (!evidence) co_return evidence.error();
    const Status status = StatusOf(*evidence);
    std::string now = kube::DumpJson(AsJson(status));
    if (now != before) {
      if (!before.empty()) tool.Print(Style::OfStdout().NewScreen());
      tool.Answer([&](Style style) { return Say(status, style); }, [&] { return AsJson(status); });
    }
    if (!asked.watches) co_return kSuccess;
    before = std::move(now);
    Result<> slept = co_await tool.clock().Sleep(kInterval);
    // Control-C is the usual end.
    if (!slept) co_return kSuccess;
  }
}

}  // namespace

void AddStatus(CLI::App& app, Chosen& chosen) {
  auto asked = std::make_shared<Asked>();
  CLI::App* status = app.add_subcommand("status", "How the operator is, and why pods wait");
  status->add_flag("-A,--all-namespaces", chosen.flags.all_namespaces, "Of all namespaces");
  status->add_flag("-w,--watch", asked->watches, "Show it again after each change");
  AddFormats(*status, {"json", "yaml"}, chosen);
  status->callback(
      [asked, &chosen] { chosen.run = [asked](Tool& tool) { return Run(tool, *asked); }; });
}

}  // namespace plugin
