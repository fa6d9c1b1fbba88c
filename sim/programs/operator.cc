// SPDX-License-Identifier: Apache-2.0
#include "sim/programs/operator.h"

#include <glog/logging.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "api/names.h"
#include "ephemeral-containers/operator/warning_feature.h"
#include "image-facts/policy/hot_images.h"
#include "image-facts/policy/policy_metrics.h"
#include "kube/admission/review.h"
#include "kube/base/notifier.h"
#include "kube/base/random.h"
#include "kube/base/task_group.h"
#include "kube/client/typed.h"
#include "kube/controller/leadership.h"
#include "kube/metrics/metrics.h"
#include "kube/types/kinds.h"
#include "operator/announcements/announcer.h"
#include "operator/certificates/own_certificate.h"
#include "operator/feature.h"
#include "operator/leader.h"
#include "operator/node_taints/node_taints_feature.h"
#include "operator/objects/metadata.h"
#include "operator/teardown/own_namespace_teardown.h"
#include "operator/webhooks/config_webhooks.h"
#include "scheduling-policies/names.h"
#include "scheduling-policies/operator/policy_feature.h"
#include "scheduling-policies/operator/policy_webhooks.h"
#include "sim/cluster/http_server.h"

namespace sim {
namespace {

using kube::Async;
using kube::Error;
using kube::Ok;
using kube::Result;
using namespace std::chrono_literals;

// As in operator/replica.cc.
constexpr auto kRetryEvery = 2s;
constexpr kube::Duration kStopLeadingWithin = 1s;

operator_::OperandOptions OperandsOf(const OperatorOptions& options) {
  return {.ns = options.ns,
          .ns_uid = "",
          .webhook_image = "r.io/webhook:" + options.tag,
          .shard_image = "r.io/shard:" + options.tag,
          .controller_image = "r.io/controller:" + options.tag,
          .architectures = {"amd64"}};
}

class Replica {
 public:
  Replica(Life& life, OperatorOptions options)
      : life_(life),
        options_(std::move(options)),
        operands_(OperandsOf(options_)),
        work_(life.app().executor()),
        teardown_(life.client(), life.clock(), options_.ns),
        certificate_(life.client(), life.clock(), options_.ns, operator_::kNoFiles),
        policies_(life.client(), life.clock(), options_.ns),
        server_(*options_.services, life,
                {options_.ns, std::string(api::kOperatorServiceName), options_.process}) {
    teardown_.OnDue([this] { teardown_due_.NotifyAll(); });
    features_.push_back(operator_::NewPolicyFeature(life.client(), life.clock(), options_.ns));
    features_.push_back(operator_::NewNodeTaintsFeature());
    features_.push_back(operator_::NewWarningFeature());
  }

  Async<> Run() {
    co_await kube::IgnoreCancellation();
    kube::App& app = life_.app();
    app.tasks().Spawn("own-namespace", teardown_.Watch());
    Result<> operated = co_await Operate();
    Result<> ended = co_await app.EndTasks(work_);
    kube::IgnoreError(ended, "all tasks have ended in any case");
    ended = co_await server_.Drain();
    kube::IgnoreError(ended, "calls have a timeout of their own");
    ended = co_await app.EndTasks(app.tasks());
    kube::IgnoreError(ended, "all tasks have ended in any case");
    co_return operated;
  }

 private:
  Async<> Operate() {
    Result<> prepared = co_await Prepare();
    if (!prepared && !teardown_.due()) co_return prepared.error();
    if (prepared) Serve();
    if (!teardown_.due()) work_.Spawn("leadership", Lead());
    while (!life_.app().stopping() && !teardown_.due()) {
      Result<> waited = co_await teardown_due_.Wait();
      kube::IgnoreError(waited, "the loop asks whether the program stops");
    }
    if (!teardown_.due()) {
      // The watch may be behind, and this process may end because its namespace is deleted.
      co_await kube::ForgetCancellation();
      co_await teardown_.Ask();
    }
    if (!teardown_.due()) co_return Ok();

    Result<> stopped = co_await work_.Stop(life_.clock(), kStopLeadingWithin);
    LOG_IF(WARNING, !stopped) << stopped.error();
    Result<> torn_down = co_await teardown_.Run(/*last=*/life_.app().stopping());
    LOG_IF(WARNING, !torn_down) << "teardown: " << torn_down.error();
    co_await life_.app().WaitForStop();
    co_return Ok();
  }

  Async<> Prepare() {
    while (true) {
      kube::ObjectKey key{"", options_.ns};
      Result<kube::Unstructured> own =
          co_await kube::GetObject(life_.client(), kube::kNamespaces, key);
      Result<> ready = Ok();
      if (own) {
        operands_.ns_uid = own->metadata().uid();
        ready = co_await certificate_.Refresh();
      } else {
        ready = own.error().Prefix("read namespace " + options_.ns);
      }
      if (ready) co_return Ok();
      if (teardown_.due()) co_return Error::Cancelled("the namespace is being deleted");
      LOG(WARNING) << "cannot start yet: " << ready.error();
      Result<> slept = co_await life_.clock().Sleep(kRetryEvery);
      if (!slept) co_return slept.error();
    }
  }

  void Serve() {
    kube::App& app = life_.app();
    announcer_.emplace(
        life_.client(), life_.clock(), app.tasks(),
        operator_::AnnouncerOptions{.owner = operator_::OwnNamespace(operands_)},
        metrics_.AddCounter("mto_ppo_announcements_failed_total", "As in the operator"));
    webhooks_.emplace(life_.client(), life_.clock(), *announcer_);
    server_.Handle(api::kValidateConfigPath,
                   kube::ReviewHandler([this](kube::AdmissionRequest request) {
                     return webhooks_->ValidateConfig(std::move(request));
                   }));
    server_.Handle(api::kValidateClusterConfigPath,
                   kube::ReviewHandler([this](kube::AdmissionRequest request) {
                     return webhooks_->ValidateClusterConfig(std::move(request));
                   }));
    AddPolicies(policy::kValidatePolicyPath, policy::Scope::kNamespace);
    AddPolicies(policy::kValidateClusterPolicyPath, policy::Scope::kCluster);
    app.tasks().Spawn("certificate", certificate_.Run());
    server_.Open([this] { return certificate_.served().certificate_pem; });
  }

  void AddPolicies(std::string_view path, policy::Scope scope) {
    server_.Handle(path, kube::ReviewHandler([this, scope](kube::AdmissionRequest request) {
                     return policies_.Validate(scope, std::move(request));
                   }));
  }

  boost::asio::awaitable<void> Lead() {
    operator_::LeaderOptions options{
        .operands = operands_,
        .upgrades = {.order_seed = std::to_string(kube::RandomSeed())},
        .new_known_images = image_facts::NewHotImages(policy_metrics_)};
    kube::Leadership::NewTerm new_term = [&](kube::TaskGroup&, kube::Client& client) {
      return std::make_unique<operator_::Leader>(client, life_.clock(), options, certificate_,
                                                 features_);
    };
    kube::LeaseOptions lease{.ns = options_.ns,
                             .name = std::string(operator_::kManagedBy),
                             .identity = options_.pod_name};
    kube::Leadership leadership(life_.app(), life_.client(), std::move(lease));
    co_await leadership.Run(std::move(new_term));
  }

  Life& life_;
  OperatorOptions options_;
  operator_::OperandOptions operands_;
  kube::Metrics metrics_;
  // Of the leader; app().tasks() are all others.
  kube::TaskGroup work_;
  kube::Notifier teardown_due_;
  operator_::OwnNamespaceTeardown teardown_;
  operator_::OwnCertificate certificate_;
  operator_::Features features_;
  image_facts::PolicyMetrics policy_metrics_{metrics_};
  operator_::PolicyWebhooks policies_;
  // Exist once the Namespace was read.
  std::optional<operator_::Announcer> announcer_;
  std::optional<operator_::ConfigWebhooks> webhooks_;
  HttpServer server_;
};

}  // namespace

Async<> RunOperator(Life& life, OperatorOptions options) {
  co_await kube::IgnoreCancellation();
  Replica replica(life, std::move(options));
  co_return co_await replica.Run();
}

}  // namespace sim
