// SPDX-License-Identifier: Apache-2.0
#include "plugin/command/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <utility>

#include "api/pod_placement_config.h"
#include "kube/client/typed.h"
#include "kube/types/kinds.h"
#include "plugin/read/kinds.h"

namespace plugin {
namespace {

using kube::Async;
using kube::Result;

// The values of flags that are names of objects, or files.
const std::map<std::string, std::string>& ObjectsOfFlags() {
  static const auto& flags = *new std::map<std::string, std::string>{
      {"namespace", "namespaces"}, {"operator-namespace", "namespaces"}, {"as-pod", "pods"}};
  return flags;
}
constexpr std::string_view kFileFlags[] = {"kubeconfig", "authfile",        "ca-file", "filename",
                                           "prices",     "registries-conf", "policy",  "certs-dir"};

struct Kind {
  std::string_view name;  // as the user names it; "" for what only flags name
  kube::Resource resource;
};
constexpr Kind kKinds[] = {{"pod", kube::kPods},
                           {"deployment", kube::kDeployments},
                           {"statefulset", kStatefulSets},
                           {"replicaset", kube::kReplicaSets},
                           {"daemonset", kube::kDaemonSets},
                           {"job", kJobs},
                           {"config", kube::ResourceOf<api::PodPlacementConfig>::value},
                           {"", kube::kNamespaces}};

// The flag of the app or its command that the word is, if it takes a value: "-n", "--namespace".
const CLI::Option* FlagWithValue(const CLI::App& app, const CLI::App* command,
                                 const std::string& word) {
  for (const CLI::App* owner : {command, &app}) {
    if (owner == nullptr || !word.starts_with('-')) continue;
    const CLI::Option* option = owner->get_option_no_throw(word);
    if (option != nullptr && option->get_items_expected_max() > 0) return option;
  }
  return nullptr;
}

void CompleteValue(const CLI::Option& option, const std::vector<std::string>& formats,
                   Completion& completion) {
  const std::string name = option.get_lnames().empty() ? "" : option.get_lnames()[0];
  if (name == "output") completion.candidates = formats;
  if (name == "architecture") completion.candidates = {"amd64", "arm64", "ppc64le", "s390x"};
  if (auto found = ObjectsOfFlags().find(name); found != ObjectsOfFlags().end())
    completion.objects = found->second;
  completion.files =
      std::find(std::begin(kFileFlags), std::end(kFileFlags), name) != std::end(kFileFlags);
}

void CompleteFlag(const CLI::App& app, const CLI::App* command, Completion& completion) {
  for (const CLI::App* owner : {command, &app}) {
    if (owner == nullptr) continue;
    for (const CLI::Option* option : owner->get_options()) {
      for (const std::string& name : option->get_lnames())
        completion.candidates.push_back("--" + name);
    }
  }
}

// The words that are no flags, and no values of flags, before the last word.
std::vector<std::string> Positionals(const CLI::App& app, const CLI::App* command,
                                     const std::vector<std::string>& words) {
  std::vector<std::string> positionals;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i].starts_with('-')) {
      if (FlagWithValue(app, command, words[i]) != nullptr) ++i;
    } else {
      positionals.push_back(words[i]);
    }
  }
  return positionals;
}

Async<std::vector<std::string>> NamesOf(Tool& tool, std::string plural) {
  std::vector<std::string> names;
  auto kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                           [&](const Kind& one) { return one.resource.plural == plural; });
  Result<kube::Client*> client = tool.Connect();
  if (!client || kind == std::end(kKinds)) co_return names;
  // A shell waits for it.
  constexpr std::chrono::seconds kPatience{3};
  kube::ListOptions options{.page_timeout = kPatience};
  if (kind->resource.namespaced) options.ns = tool.ns();
  auto objects = co_await kube::ListObjects(**client, kind->resource, std::move(options));
  if (!objects) co_return names;
  for (const kube::Unstructured& object : objects->items) names.push_back(object.metadata().name());
  co_return names;
}

}  // namespace

Completion Complete(const CLI::App& app, const Chosen& chosen,
                    const std::vector<std::string>& words) {
  Completion completion;
  const std::string last = words.empty() ? "" : words.back();
  const std::string before = words.size() < 2 ? "" : words[words.size() - 2];
  const CLI::App* command = nullptr;
  for (const std::string& word : words) {
    for (const CLI::App* one : app.get_subcommands(nullptr)) {
      if (one->get_name() == word && &word != &words.back()) command = one;
    }
  }
  const std::vector<std::string> positionals = Positionals(app, command, words);
  const auto formats =
      command == nullptr ? chosen.formats.end() : chosen.formats.find(command->get_name());
  if (const CLI::Option* option = FlagWithValue(app, command, before); option != nullptr) {
    CompleteValue(*option,
                  formats == chosen.formats.end() ? std::vector<std::string>() : formats->second,
                  completion);
  } else if (last.starts_with('-')) {
    CompleteFlag(app, command, completion);
  } else if (positionals.empty()) {
    for (const CLI::App* one : app.get_subcommands(nullptr))
      completion.candidates.push_back(one->get_name());
  } else if (command != nullptr && command->get_name() == "why") {
    for (const Kind& kind : kKinds) {
      if (positionals.size() == 1 && !kind.name.empty())
        completion.candidates.emplace_back(kind.name);
      if (positionals.size() == 2 && kind.name == positionals[1])
        completion.objects = kind.resource.plural;
    }
  }
  std::erase_if(completion.candidates,
                [&](const std::string& candidate) { return !candidate.starts_with(last); });
  return completion;
}

Async<ExitCode> PrintCompletion(Tool& tool, const Completion& completion, std::string prefix) {
  std::vector<std::string> candidates = completion.candidates;
  if (!completion.objects.empty()) {
    std::string plural = completion.objects;
    auto names = co_await NamesOf(tool, std::move(plural));
    if (names) candidates.insert(candidates.end(), names->begin(), names->end());
  }
  std::string text;
  for (const std::string& candidate : candidates) {
    if (candidate.starts_with(prefix)) text += candidate + "\n";
  }
  // 4: no names of files.
  tool.Print(text + (completion.files ? ":0\n" : ":4\n"));
  co_return kSuccess;
}

}  // namespace plugin
