// SPDX-License-Identifier: Apache-2.0
#include "plugin/command/tool.h"

#include <unistd.h>

#include <iostream>
#include <utility>

#include "api/user_agent.h"
#include "deploy/tool.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/codec/yaml.h"
#include "plugin/text/printable.h"

namespace plugin {
namespace {

// The beginning of the line, and nothing behind it.
constexpr char kEmptyLine[] = "\r\x1b[K";

}  // namespace

using kube::Result;

Result<kube::Client*> Tool::Connect() {
  if (client_) return client_.get();
  Result<kube::ClientConfig> config =
      kube::LoadKubeconfig(deploy::KubeconfigPath(flags_.kubeconfig), flags_.context);
  if (!config) return config.error();
  ns_ = flags_.ns.empty() ? config->ns : flags_.ns;
  if (ns_.empty()) ns_ = "default";
  if (flags_.all_namespaces) ns_.clear();
  auto client = kube::NewClient(app_.executor(), app_.clock(), std::move(*config),
                                {.user_agent = api::UserAgent("kubectl-placement")});
  if (!client) return client.error();
  client_ = std::move(*client);
  return client_.get();
}

void Tool::EndProgress() {
  if (std::exchange(shows_progress_, false)) std::cerr << kEmptyLine << std::flush;
}

void Tool::Print(const std::string& text) {
  EndProgress();
  std::cout << text << std::flush;
}

void Tool::ShowProgress(const std::string& text) {
  if (isatty(STDERR_FILENO) != 1) return;
  constexpr size_t kShown = 78;
  shows_progress_ = true;
  std::cerr << kEmptyLine << Printable(text).substr(0, kShown) << std::flush;
}

void Tool::Answer(const std::function<std::string(Style)>& for_people,
                  const std::function<kube::Json()>& for_programs) {
  if (flags_.output == "json") {
    Print(kube::PrettyJson(for_programs()) + "\n");
  } else if (flags_.output == "yaml") {
    Print(kube::ToYaml(for_programs()));
  } else {
    Print(for_people(Style::OfStdout()));
  }
}

}  // namespace plugin
