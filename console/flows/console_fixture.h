// SPDX-License-Identifier: Apache-2.0
// ConsoleFixture: a console beside the flow, and a browser. The console has the administrator's
// kubeconfig: it must not use the credentials in it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/framework/flow_fixture.h"

namespace e2e {

class ConsoleFixture : public FlowFixture {
 protected:
  void SetUp() override;
  void TearDown() override;

  // "http://127.0.0.1:8500/"
  const std::string& address() const { return address_; }
  ChildProcess& console() { return *console_; }

  // A token of a new ServiceAccount with this ClusterRole, in the namespace or in all.
  std::string TokenOf(const std::string& account, const std::string& role, bool everywhere);
  std::string AdminToken() { return TokenOf("admin", "cluster-admin", /*everywhere=*/true); }

  // What a scenario needs: address, token, namespace, and a folder for screenshots.
  Json Given(const std::string& token);
  // Runs a scenario of browser/scenarios.mjs.
  void RunScenario(const std::string& name, const Json& given);
  void Kubectl(std::vector<std::string> args);

 private:
  kube::Result<> FindAddress();

  std::string log_;
  std::string address_;
  std::unique_ptr<ChildProcess> console_;
  bool admin_bound_ = false;
};

}  // namespace e2e
