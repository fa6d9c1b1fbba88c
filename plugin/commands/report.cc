// SPDX-License-Identifier: Apache-2.0
#include "plugin/commands/report.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "api/architecture.h"
#include "kube/client/read_file.h"
#include "kube/codec/yaml.h"
#include "plugin/command/formats.h"
#include "plugin/report/read_report.h"
#include "plugin/report/report_html.h"
#include "plugin/report/report_text.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Result;

struct Asked {
  std::string architecture = "arm64";
  std::string owner_key;
  std::string prices_file;
  std::string label_selector;
  bool asks_registries = false;
  bool finds_newer = false;
};

// {"arm64": {"cpu": 0.03, "memory": 0.004}}: of an hour.
Result<Prices> ReadPrices(const std::string& path) {
  if (path.empty()) return Prices();
  Result<std::string> text = kube::ReadFile(path);
  if (!text) return text.error();
  Result<std::vector<Json>> documents = kube::ParseYamlDocuments(*text);
  if (!documents) return documents.error().Prefix(path);
  Prices prices;
  for (const Json& document : *documents) {
    if (!document.is_object()) return Error::Invalid(path + ": not a map of architectures");
    for (const auto& [architecture, price] : document.items()) {
      const Json* cpu = kube::Find(price, "cpu");
      const Json* memory = kube::Find(price, "memory");
      if (cpu == nullptr || memory == nullptr || !cpu->is_number() || !memory->is_number())
        return Error::Invalid(path + ": " + architecture +
                              " needs the numbers cpu and memory: the price of an hour of a CPU, "
                              "and of a GiB");
      prices[architecture] = {cpu->get<double>(), memory->get<double>()};
    }
  }
  return prices;
}

Async<ExitCode> Run(Tool& tool, const Asked& asked) {
  if (!api::IsArchitectureName(asked.architecture))
    co_return Error::Invalid("\"" + asked.architecture + "\" is no name of an architecture");
  Result<Prices> prices = ReadPrices(asked.prices_file);
  if (!prices) co_return prices.error();
  Result<kube::Client*> client = tool.Connect();
  if (!client) co_return client.error();
  ImageFinder finder(**client, tool.executor(), tool.clock(),
                     {.operator_namespace = tool.operator_namespace(),
                      .asks_registries = asked.asks_registries,
                      .progress = [&](const std::string& text) { tool.ShowProgress(text); }});
  ReportQuestion question{.ns = tool.ns(),
                          .label_selector = asked.label_selector,
                          .operator_namespace = tool.operator_namespace(),
                          .finds_newer = asked.finds_newer,
                          .options = {.architecture = asked.architecture,
                                      .owner_key = asked.owner_key,
                                      .prices = std::move(*prices)}};
  Result<Report> report = co_await ReadReport(**client, finder, std::move(question));
  if (!report) co_return report.error();
  if (tool.output() == "csv") {
    tool.Print(AsCsv(*report));
  } else if (tool.output() == "html") {
    tool.Print(AsHtml(*report, tool.clock().WallNow()));
  } else {
    tool.Answer([&](Style style) { return Say(*report, tool.output() == "wide", style); },
                [&] { return AsJson(*report); });
  }
  co_return kSuccess;
}

}  // namespace

void AddReport(CLI::App& app, Chosen& chosen) {
  auto asked = std::make_shared<Asked>();
  CLI::App* report =
      app.add_subcommand("report", "What could run on another architecture, and what could not");
  report->add_option("--architecture", asked->architecture, "That of the nodes that may be added")
      ->capture_default_str()
      ->option_text("NAME");
  report->add_flag("-A,--all-namespaces", chosen.flags.all_namespaces, "Of all namespaces");
  report->add_option("-l,--selector", asked->label_selector, "Of pods with these labels")
      ->option_text("SELECTOR");
  report
      ->add_option("--owner", asked->owner_key,
                   "Label or annotation of pods that says who is responsible")
      ->option_text("KEY");
  report
      ->add_option("--prices", asked->prices_file,
                   "Prices by architecture, YAML: {arm64: {cpu: 0.03, memory: 0.004}}, of an hour "
                   "of a CPU and of a GiB")
      ->option_text("FILE");
  report->add_flag(
      "--inspect", asked->asks_registries,
      "Ask registries, from this machine, about images that the cluster does not know");
  report->add_flag("--find-newer", asked->finds_newer,
                   "Look in registries for newer tags that have the architecture");
  AddFormats(*report, {"wide", "json", "yaml", "csv", "html"}, chosen);
  report->callback(
      [asked, &chosen] { chosen.run = [asked](Tool& tool) { return Run(tool, *asked); }; });
}

}  // namespace plugin
