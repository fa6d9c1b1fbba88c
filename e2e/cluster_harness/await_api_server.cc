// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/await_api_server.h"

#include <chrono>

namespace e2e {

using namespace std::chrono_literals;
using kube::Result;

Result<> AwaitApiServer(Cluster& cluster, ControlPlane& plane) {
  auto deadline = cluster.clock().Now() + cluster.timeout();
  while (true) {
    kube::ApiRequest request{.target = "/readyz", .accept = "*/*", .timeout = 2s};
    auto answer = cluster.Run(cluster.client().Call(std::move(request)));
    Result<> restarted = plane.RestartControllers();
    if (answer || !restarted) return restarted;
    Result<> running = plane.AllRun();
    if (!running) return running.error();
    if (cluster.clock().Now() > deadline)
      return answer.error().Prefix("the API server is not ready");
    cluster.Pause(50ms);
  }
}

}  // namespace e2e
