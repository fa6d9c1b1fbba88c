// SPDX-License-Identifier: Apache-2.0
#include "scheduling-policies/webhook/policy_mode.h"

#include <gflags/gflags.h>

#include <cstdlib>
#include <utility>

#include "kube/types/object_name.h"
#include "scheduling-policies/webhook/policy_replica.h"
#include "scheduling-policies/webhook/policy_webhook.h"

DEFINE_bool(policies, false,
            "Apply scheduling policies, instead of adding gates. Needs the environment variable "
            "POD_NAME, the name of this pod.");
DEFINE_bool(only_changed_templates, false,
            "With --policies: an update gets the criteria only if it changes the pod template.");
DEFINE_bool(require_cluster_policies, false,
            "With --policies: a request is denied if a limit would skip a criterion of a "
            "ClusterPodSchedulingPolicy.");

namespace policy {
namespace {

using webhook::ChosenMode;
using webhook::ModeContext;

class PolicyMode final : public webhook::Mode {
 public:
  PolicyMode(PolicyWebhookOptions options, std::string pod, const ModeContext& context)
      : replica_(*context.client, context.clock, options.operator_namespace, std::move(pod)),
        webhook_(std::move(options), replica_, *context.client, context.metrics, context.clock) {
    context.health.AddReadiness("policies", [this] { return replica_.InForce(); });
  }

  // Mode
  void AddTo(kube::HttpsServer& server) override { webhook_.AddTo(server); }
  void Start(kube::TaskGroup& tasks) override { replica_.Start(tasks); }
  // The operator waits for this replica as long as it answers reviews.
  kube::Async<> End() override { return replica_.End(); }

 private:
  PolicyReplica replica_;
  PolicyWebhook webhook_;
};

kube::Result<PolicyWebhookOptions> OptionsFromFlags(const std::string& operator_namespace) {
  for (const char* flag : {"gate", "namespace"}) {
    if (webhook::IsSet(flag))
      return kube::Error::Invalid(std::string("--policies adds no gate: it refuses --") + flag);
  }
  if (!kube::IsObjectName(operator_namespace))
    return kube::Error::Invalid("--operator-namespace must name a namespace with --policies");
  return PolicyWebhookOptions{operator_namespace, FLAGS_only_changed_templates,
                              FLAGS_require_cluster_policies};
}

// The name of this replica. A host name does not do: the operator compares it with pods.
kube::Result<std::string> PodName() {
  const char* name = std::getenv("POD_NAME");
  if (name == nullptr || !kube::IsObjectName(name))
    return kube::Error::Invalid("--policies: the environment variable POD_NAME must name this pod");
  return std::string(name);
}

}  // namespace

kube::Result<std::optional<ChosenMode>> ChoosePolicyMode(const std::string& operator_namespace) {
  if (!FLAGS_policies) {
    if (webhook::IsSet("only_changed_templates"))
      return kube::Error::Invalid("--only-changed-templates is for --policies");
    if (webhook::IsSet("require_cluster_policies"))
      return kube::Error::Invalid("--require-cluster-policies is for --policies");
    return std::optional<ChosenMode>();
  }
  kube::Result<PolicyWebhookOptions> options = OptionsFromFlags(operator_namespace);
  if (!options) return options.error();
  kube::Result<std::string> pod = PodName();
  if (!pod) return pod.error();
  return std::optional(ChosenMode{.what = "applies scheduling policies",
                                  .needs_client = true,
                                  .open = [options, pod](const ModeContext& context) {
                                    return std::make_unique<PolicyMode>(*options, *pod, context);
                                  }});
}

}  // namespace policy
