// SPDX-License-Identifier: Apache-2.0
// Cluster: the cluster that a flow runs on, on either tier.
//
//   kube::Result<Pod> pod = cluster.Run(kube::Get<Pod>(cluster.client(), {"ns", "web"}));
//
// Flows are synchronous: the event loop with watches, process kubelet and calls runs only inside
// Run() and Pause(). Between those calls, incoming data waits in socket buffers and is not lost.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/client/client.h"
#include "kube/client/client_config.h"
#include "kube/types/resource.h"

namespace e2e {

enum class Tier {
  kIntegration,  // a control plane and the operator's programs as processes of this machine
  kKind,         // the cluster of KUBECONFIG, with the operator deployed
};

class Cluster {
 public:
  struct Options {
    Tier tier = Tier::kKind;
    // host:port of the registry that has the demo images.
    std::string registry;
    std::string operator_namespace;
    // The API server, with cluster-admin rights.
    kube::ClientConfig connection;
    // Timeout for each condition that a flow waits for.
    std::chrono::seconds timeout{60};
  };

  // Several clusters may share `io`.
  Cluster(std::shared_ptr<boost::asio::io_context> io, std::unique_ptr<kube::Client> client,
          Options options)
      : io_(std::move(io)), client_(std::move(client)), options_(std::move(options)) {}
  virtual ~Cluster() = default;

  Tier tier() const { return options_.tier; }
  boost::asio::io_context& io() { return *io_; }
  // A client with cluster-admin rights.
  kube::Client& client() { return *client_; }
  kube::Clock& clock() { return kube::RealClock(); }
  const std::string& operator_namespace() const { return options_.operator_namespace; }
  const kube::ClientConfig& connection() const { return options_.connection; }
  const std::string& registry() const { return options_.registry; }
  std::chrono::seconds timeout() const { return options_.timeout; }
  // "demo/multi:1" in the registry of this cluster.
  std::string Image(std::string_view name) const {
    return options_.registry + "/" + std::string(name);
  }

  // Kills the pod's program without SIGTERM. Its kubelet or its ReplicaSet starts it again.
  virtual kube::Result<> Crash(kube::ObjectKey pod) = 0;
  // State and logs of the operator's programs in `ns`, for a failure's message.
  virtual std::string Describe(const std::string& ns) = 0;

  // Runs the event loop until `work` is done.
  template <class T>
  kube::Result<T> Run(kube::Async<T> work);
  // Runs the event loop for `time`.
  void Pause(std::chrono::milliseconds time);

 private:
  std::shared_ptr<boost::asio::io_context> io_;
  std::unique_ptr<kube::Client> client_;
  Options options_;
};

// The cluster of this test program; set by its main() before any test runs.
Cluster& TheCluster();
void SetTheCluster(std::unique_ptr<Cluster> cluster);

template <class T>
kube::Result<T> Cluster::Run(kube::Async<T> work) {
  std::optional<kube::Result<T>> done;
  boost::asio::co_spawn(*io_, std::move(work),
                        [&done](std::exception_ptr thrown, kube::Result<T> result) {
                          if (thrown) {
                            done = kube::Error::Internal("an exception left the coroutine");
                          } else {
                            done = std::move(result);
                          }
                        });
  while (!done) {
    if (io_->stopped()) io_->restart();
    io_->run_one();
  }
  return std::move(*done);
}

}  // namespace e2e
