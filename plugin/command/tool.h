// SPDX-License-Identifier: Apache-2.0
// Tool: what each command has: the cluster and the namespace that the flags name, and the output.
// Thread: the app's.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "kube/base/app.h"
#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/types/unstructured.h"
#include "plugin/text/style.h"

namespace plugin {

// As kubectl has them. Empty: its default.
struct ToolFlags {
  std::string kubeconfig;
  std::string context;
  std::string ns;
  bool all_namespaces = false;
  // With the operator, and the facts about images.
  std::string operator_namespace;
  std::string output;  // one of the command's formats; "" for people
};

class Tool {
 public:
  Tool(kube::App& app, ToolFlags flags) : app_(app), flags_(std::move(flags)) {}
  ~Tool() { EndProgress(); }
  Tool(const Tool&) = delete;
  Tool& operator=(const Tool&) = delete;

  kube::Executor executor() { return app_.executor(); }
  kube::Clock& clock() { return app_.clock(); }

  // The client of the cluster, which the tool owns. Errors: those of the kubeconfig.
  kube::Result<kube::Client*> Connect();
  // Of the flag, else of the context, else "default"; "" with --all-namespaces. After Connect().
  const std::string& ns() const { return ns_; }

  const std::string& operator_namespace() const { return flags_.operator_namespace; }

  const std::string& output() const { return flags_.output; }
  // To standard output.
  void Print(const std::string& text);
  // What it does now: a line on a terminal, until something is printed.
  void ShowProgress(const std::string& text);
  // For people or, with --output=json and yaml, for programs: only that one is made.
  void Answer(const std::function<std::string(Style)>& for_people,
              const std::function<kube::Json()>& for_programs);

 private:
  void EndProgress();

  kube::App& app_;
  ToolFlags flags_;
  std::unique_ptr<kube::Client> client_;
  bool shows_progress_ = false;
  std::string ns_;
};

}  // namespace plugin
