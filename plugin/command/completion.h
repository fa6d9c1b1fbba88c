// SPDX-License-Identifier: Apache-2.0
// Completion of a command line in a shell. kubectl calls `kubectl_complete-placement` with the
// words after "placement", which calls this program with "__complete" before them, and reads lines
// with candidates and a last line with a directive, as of github.com/spf13/cobra.
#pragma once

#include <string>
#include <vector>

#include "plugin/command/chosen.h"

namespace CLI {
class App;
}

namespace plugin {

struct Completion {
  // Commands, flags, kinds and formats that begin with the last word.
  std::vector<std::string> candidates;
  // Names of such objects are candidates as well: "pods", "namespaces"; "" for none. Of contexts,
  // those of the kubeconfig.
  std::string objects;
  // The last word is the name of a file.
  bool files = false;
};

// `words`: the last one is to be completed, and may be empty. Pure.
Completion Complete(const CLI::App& app, const Chosen& chosen,
                    const std::vector<std::string>& words);

// Prints candidates and directive. The flags among `words` say of which cluster and namespace.
// Errors: never; without an answer of the cluster there are fewer candidates.
kube::Async<ExitCode> PrintCompletion(Tool& tool, const Completion& completion, std::string prefix);

}  // namespace plugin
