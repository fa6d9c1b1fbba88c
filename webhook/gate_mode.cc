// SPDX-License-Identifier: Apache-2.0
#include "webhook/gate_mode.h"

#include <gflags/gflags.h>

#include <utility>

DEFINE_string(gate, "cluster", "Which gate to add: cluster, or local with --namespace.");
DEFINE_string(namespace, "",
              "The namespace to serve; required with --gate=local, refused with --gate=cluster.");

namespace webhook {
namespace {

class GateMode final : public Mode {
 public:
  GateMode(GateWebhookOptions options, const ModeContext& context)
      : webhook_(std::move(options), context.metrics, context.clock) {}

  // Mode
  void AddTo(kube::HttpsServer& server) override { webhook_.AddTo(server); }

 private:
  GateWebhook webhook_;
};

}  // namespace

kube::Result<GateWebhookOptions> GateOptionsFromFlags(const std::string& operator_namespace) {
  if (FLAGS_gate != "cluster" && FLAGS_gate != "local") {
    return kube::Error::Invalid("--gate: \"" + FLAGS_gate + "\" is neither cluster nor local");
  }
  if (FLAGS_gate == "local" && FLAGS_namespace.empty()) {
    return kube::Error::Invalid("--namespace is required with --gate=local");
  }
  if (FLAGS_gate == "cluster" && !FLAGS_namespace.empty()) {
    return kube::Error::Invalid(
        "--namespace is for --gate=local: --gate=cluster serves all namespaces");
  }
  return GateWebhookOptions{FLAGS_namespace, operator_namespace};
}

kube::Result<std::optional<ChosenMode>> ChooseGateMode(const std::string& operator_namespace) {
  kube::Result<GateWebhookOptions> options = GateOptionsFromFlags(operator_namespace);
  if (!options) return options.error();
  return std::optional(ChosenMode{.what = "adds the " + FLAGS_gate + " gate",
                                  .open = [options](const ModeContext& context) {
                                    return std::make_unique<GateMode>(*options, context);
                                  }});
}

}  // namespace webhook
