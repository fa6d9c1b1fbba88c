// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/given_cluster.h"

#include <cstdlib>

#include "api/names.h"
#include "e2e/framework/resources.h"
#include "kube/client/kubeconfig.h"
#include "kube/client/new_client.h"
#include "kube/client/typed.h"

namespace e2e {
namespace {

using namespace std::chrono_literals;
using kube::Error;
using kube::Ok;
using kube::Result;

class GivenCluster : public Cluster {
 public:
  using Cluster::Cluster;

  // Deletes the pod without grace period; its ReplicaSet creates another.
  Result<> Crash(kube::ObjectKey pod) override {
    kube::ApiRequest request{.method = kube::Method::kDelete,
                             .target = kPods.Path(pod.ns, pod.name)};
    kube::AddQuery(request.target, "gracePeriodSeconds", "0");
    auto deleted = Run(client().Call(std::move(request)));
    if (!deleted) return deleted.error();
    return Ok();
  }

  std::string Describe(const std::string& ns) override {
    return "logs: kubectl --namespace " + ns + " logs ...\n";
  }
};

}  // namespace

Result<std::unique_ptr<Cluster>> OpenGivenCluster(const std::string& name) {
  const char* kubeconfig = std::getenv("KUBECONFIG");
  const char* registry = std::getenv("REGISTRY");
  if (kubeconfig == nullptr || registry == nullptr || *registry == '\0') {
    return Error::Invalid(
        "KUBECONFIG and REGISTRY name the cluster and its registry with the demo images; "
        "e2e/cluster/with-cluster.sh sets them for the cluster of `make cluster`");
  }
  auto config = kube::LoadKubeconfig(kubeconfig);
  if (!config) return config.error();
  auto io = std::make_unique<boost::asio::io_context>(1);
  kube::ClientOptions client_options{.user_agent = name};
  auto client = kube::NewClient(io->get_executor(), kube::RealClock(), *config, client_options);
  if (!client) return client.error();
  Cluster::Options options{.tier = Tier::kKind,
                           .registry = registry,
                           .operator_namespace = std::string(api::kDefaultOperatorNamespace),
                           .connection = *config,
                           .timeout = 120s};
  std::unique_ptr<Cluster> cluster =
      std::make_unique<GivenCluster>(std::move(io), std::move(*client), std::move(options));
  return cluster;
}

}  // namespace e2e
