// SPDX-License-Identifier: Apache-2.0
// kubectl-placement: explains to users where their pods may run and why. kubectl finds it in PATH:
//
//   kubectl placement why pod web-0 --namespace=shop
#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/names.h"
#include "api/version.h"
#include "kube/base/app.h"
#include "plugin/command/chosen.h"
#include "plugin/command/completion.h"
#include "plugin/commands/inspect.h"
#include "plugin/commands/report.h"
#include "plugin/commands/simulate.h"
#include "plugin/commands/status.h"
#include "plugin/commands/why.h"

namespace plugin {
namespace {

constexpr char kName[] = "kubectl-placement";

void AddFlags(CLI::App& app, ToolFlags& flags) {
  app.add_option("--kubeconfig", flags.kubeconfig, "Path of a kubeconfig file")
      ->option_text("FILE");
  app.add_option("--context", flags.context, "Context in the kubeconfig file")->option_text("NAME");
  app.add_option("-n,--namespace", flags.ns, "Namespace; default: that of the context")
      ->option_text("NAME");
  app.add_option("--operator-namespace", flags.operator_namespace, "Namespace of the operator")
      ->default_val(std::string(api::kDefaultOperatorNamespace))
      ->option_text("NAME");
}

kube::Async<> RunIn(kube::App& app, const Chosen& chosen, ExitCode& code) {
  Tool tool(app, chosen.flags);
  kube::Result<ExitCode> done = co_await chosen.run(tool);
  if (!done) co_return done.error();
  code = *done;
  co_return kube::Ok();
}

int Run(const Chosen& chosen) {
  // The flags are CLI11's: gflags, which glog uses, gets none.
  std::string name = kName;
  char* argv[] = {name.data(), nullptr};
  const kube::AppOptions options{.name = kName,
                                 .summary = "",
                                 .version = api::kVersion,
                                 .argc = 1,
                                 .argv = argv,
                                 .interactive = true};
  ExitCode code = kSuccess;
  const int failed =
      kube::RunApp(options, [&](kube::App& app) { return RunIn(app, chosen, code); });
  return failed != 0 ? failed : code;
}

// `words`: after "placement".
int RunCompletion(CLI::App& app, Chosen& chosen, const std::vector<std::string>& words) {
  const Completion completion = Complete(app, chosen, words);
  // The flags that are complete say which cluster is asked.
  try {
    app.parse(std::vector<std::string>(words.rbegin() + (words.empty() ? 0 : 1), words.rend()));
  } catch (const CLI::ParseError&) {
    // What is missing is yet to be typed.
  }
  chosen.run = [&](Tool& tool) {
    return PrintCompletion(tool, completion, words.empty() ? "" : words.back());
  };
  return Run(chosen);
}

}  // namespace
}  // namespace plugin

int main(int argc, char** argv) {
  CLI::App app("Explains where pods may run, by the architectures of their images.", "placement");
  plugin::Chosen chosen;
  app.fallthrough();
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string(api::kVersion));
  plugin::AddFlags(app, chosen.flags);
  plugin::AddWhy(app, chosen);
  plugin::AddInspect(app, chosen);
  plugin::AddSimulate(app, chosen);
  plugin::AddReport(app, chosen);
  plugin::AddStatus(app, chosen);
  if (argc > 1 && std::string_view(argv[1]) == "__complete")
    return plugin::RunCompletion(app, chosen, {argv + 2, argv + argc});
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    constexpr int kWrongCommandLine = 2;
    return app.exit(error) == 0 ? 0 : kWrongCommandLine;
  }
  return plugin::Run(chosen);
}
