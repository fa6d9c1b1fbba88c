// SPDX-License-Identifier: Apache-2.0
#include "plugin/commands/simulate.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/client/read_file.h"
#include "plugin/command/formats.h"
#include "plugin/inspect/image_finder.h"
#include "plugin/pod/answer_parts.h"
#include "plugin/read/read_namespace.h"
#include "plugin/read/read_subjects.h"
#include "plugin/simulate/simulation_text.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Error;
using kube::Json;
using kube::Result;

struct Asked {
  std::vector<std::string> files;
  bool offline = false;
};

// By name.
using Namespaces = std::map<std::string, std::shared_ptr<NamespaceEvidence>>;

struct Simulation {
  std::vector<Outcome> pods;
  std::vector<ConfigOutcome> configs;
  std::vector<Unread> unread;
};

Result<std::string> ReadAll(const std::string& path) {
  if (path != "-") return kube::ReadFile(path);
  return std::string(std::istreambuf_iterator<char>(std::cin), {});
}

Result<Manifests> ReadFiles(const std::vector<std::string>& paths, const std::string& ns) {
  Manifests all;
  for (const std::string& path : paths) {
    Result<std::string> text = ReadAll(path);
    if (!text) return text.error();
    Result<Manifests> read = ReadManifests(*text, ns);
    if (!read) return read.error().Prefix(path);
    all.subjects.insert(all.subjects.end(), read->subjects.begin(), read->subjects.end());
    all.configs.insert(all.configs.end(), read->configs.begin(), read->configs.end());
    all.others.insert(all.others.end(), read->others.begin(), read->others.end());
  }
  return all;
}

// The namespaces as they are now.
Async<Namespaces> ReadNamespaces(Tool& tool, kube::Client& client, const Manifests& manifests,
                                 std::vector<Unread>& unread) {
  Namespaces namespaces;
  for (const Subject& subject : manifests.subjects)
    namespaces[subject.pod.metadata().namespace_()] = nullptr;
  for (const api::PodPlacementConfig& config : manifests.configs)
    namespaces[config.metadata().namespace_()] = nullptr;
  for (auto& [name, evidence] : namespaces) {
    std::string ns = name, operator_namespace = tool.operator_namespace();
    auto read = co_await ReadNamespace(client, std::move(ns), std::move(operator_namespace));
    if (!read) co_return read.error();
    evidence = std::move(*read);
    unread.insert(unread.end(), evidence->unread.begin(), evidence->unread.end());
  }
  co_return namespaces;
}

Async<Simulation> Simulate(Tool& tool, const Asked& asked) {
  Result<kube::Client*> client = tool.Connect();
  if (!client) co_return client.error();
  Result<Manifests> manifests = ReadFiles(asked.files, tool.ns());
  if (!manifests) co_return manifests.error();
  Simulation simulation;
  auto now = co_await ReadNamespaces(tool, **client, *manifests, simulation.unread);
  if (!now) co_return now.error();

  Namespaces with = *now;
  std::map<std::string, std::vector<Subject>> workloads;  // by namespace
  for (const api::PodPlacementConfig& config : manifests->configs) {
    const std::string& ns = config.metadata().namespace_();
    if (!workloads.contains(ns)) {
      std::string of = ns;
      auto read = co_await ReadSubjects(**client, std::move(of), simulation.unread);
      if (!read) co_return read.error();
      workloads[ns] = std::move(*read);
    }
    simulation.configs.push_back(SimulateConfig(config, *with[ns], workloads[ns]));
    with[ns] = WithConfig(config, *with[ns]);
  }

  ImageFinder finder(**client, tool.executor(), tool.clock(),
                     {.operator_namespace = tool.operator_namespace(),
                      .asks_registries = !asked.offline,
                      .progress = [&](const std::string& text) { tool.ShowProgress(text); }});
  for (const Subject& subject : manifests->subjects) {
    const std::shared_ptr<NamespaceEvidence>& around = with[subject.pod.metadata().namespace_()];
    auto images = co_await finder.Find(subject.pod, around->known_images);
    if (!images) co_return images.error();
    simulation.pods.push_back(SimulatePod(subject, around, std::move(*images)));
  }
  simulation.unread.insert(simulation.unread.end(), finder.unread().begin(), finder.unread().end());
  co_return simulation;
}

std::string SayAll(const Simulation& simulation, Style style) {
  std::string text;
  for (const ConfigOutcome& outcome : simulation.configs)
    text += (text.empty() ? "" : "\n") + Say(outcome, style);
  for (const Outcome& outcome : simulation.pods)
    text += (text.empty() ? "" : "\n") + Say(outcome, style);
  return text + Say(simulation.unread, style);
}

Json AllAsJson(const Simulation& simulation) {
  Json answer = {
      {"configs", Json::array()}, {"pods", Json::array()}, {"unread", AsJson(simulation.unread)}};
  for (const ConfigOutcome& outcome : simulation.configs)
    answer["configs"].push_back(AsJson(outcome));
  for (const Outcome& outcome : simulation.pods) answer["pods"].push_back(AsJson(outcome));
  return answer;
}

Async<ExitCode> Run(Tool& tool, const Asked& asked) {
  Result<Simulation> simulation = co_await Simulate(tool, asked);
  if (!simulation) co_return simulation.error();
  tool.Answer([&](Style style) { return SayAll(*simulation, style); },
              [&] { return AllAsJson(*simulation); });
  bool would_run = true;
  for (const Outcome& outcome : simulation->pods) would_run &= outcome.would_run;
  for (const ConfigOutcome& outcome : simulation->configs) would_run &= outcome.problem.empty();
  co_return would_run ? kSuccess : kNotPlaced;
}

}  // namespace

void AddSimulate(CLI::App& app, Chosen& chosen) {
  auto asked = std::make_shared<Asked>();
  CLI::App* simulate = app.add_subcommand(
      "simulate", "What would happen to pods, templates or a PodPlacementConfig, without creating");
  simulate
      ->add_option("-f,--filename", asked->files,
                   "Manifests: pods, workloads, PodPlacementConfigs; - for standard input")
      ->required()
      ->option_text("FILE");
  simulate->add_flag("--offline", asked->offline,
                     "Ask no registry: use only what the cluster knows of images");
  AddFormats(*simulate, {"json", "yaml"}, chosen);
  simulate->footer(
      "Exit code: 0 if all would run, 3 if one would not, 1 for an error, 2 for a wrong command "
      "line.");
  simulate->callback(
      [asked, &chosen] { chosen.run = [asked](Tool& tool) { return Run(tool, *asked); }; });
}

}  // namespace plugin
