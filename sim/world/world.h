// SPDX-License-Identifier: Apache-2.0
// World: all that the processes of one simulation share: time, the API server, what it stores and
// whom it calls, registries, faults.
//
//   World world(/*seed=*/7);
//   world.CreateNamespaces({"operator", "shop"});
//   Process& controller = world.AddProcess(
//       {"cluster-controller/0", "system:serviceaccount:operator:pod-placement-controller"},
//       [&](Life& life) { return RunClusterController(life, {...}); });
//   controller.Start();
//   world.Pass(10s);
//
// One thread. The same seed gives the same run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kube/base/async.h"
#include "kube/base/clock.h"
#include "kube/testing/fake_admission.h"
#include "kube/testing/fake_store.h"
#include "kube/testing/trusted_calls.h"
#include "sim/base/loop.h"
#include "sim/base/process.h"
#include "sim/base/process_clock.h"
#include "sim/base/random.h"
#include "sim/cluster/admission.h"
#include "sim/cluster/api_client.h"
#include "sim/cluster/api_server.h"
#include "sim/cluster/faults.h"
#include "sim/cluster/registries.h"
#include "sim/cluster/secret_files.h"
#include "sim/cluster/services.h"

namespace sim {

class World {
 public:
  // One at a time: the product's random numbers come from it while it exists.
  explicit World(uint64_t seed);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  Loop& loop() { return loop_; }
  Random& random() { return random_; }
  kube::FakeStore& store() { return store_; }
  ApiServer& api_server() { return api_server_; }
  Faults& faults() { return faults_; }
  Registries& registries() { return registries_; }
  Services& services() { return services_; }
  SecretFiles& secret_files() { return secret_files_; }
  Admission& admission() { return admission_; }
  // Immediate calls of an administrator.
  kube::TrustedCalls& admin() { return admin_; }

  void CreateNamespaces(const std::vector<std::string>& names);
  // Called for each write of a caller before its admission, which an error refuses.
  using Guard = std::function<kube::Result<void>(const kube::AdmissionAttributes&)>;
  void SetGuard(Guard guard) { guard_ = std::move(guard); }
  // It is not started.
  Process& AddProcess(ClientIdentity identity, Process::Main main);

  // Of all processes, in the order in which they were added.
  std::vector<Life*> Lives() const;

  void Pass(kube::Duration time) { loop_.RunUntil(loop_.now() + time); }

 private:
  kube::Async<kube::Admitted> Admit(kube::AdmissionAttributes asked);

  Random random_;
  Loop loop_;
  std::unique_ptr<Loop::Lane> lane_;
  ProcessClock clock_;
  kube::FakeStore store_;
  ApiServer api_server_;
  Faults faults_;
  Registries registries_;
  Services services_;
  SecretFiles secret_files_;
  Admission admission_;
  Guard guard_;
  kube::TrustedCalls admin_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace sim
