// SPDX-License-Identifier: Apache-2.0
// DemoFleet: a hub and members on this machine: API servers, the hub's program, an agent for each
// member. All are children of this process and never outlive it. Prints what its API servers report
// (fleet_story.h) as it happens.
//
//   DemoFleet fleet({.assets = assets, .folder = folder, .members = {"east", "west"}}, std::cout);
//   kube::Result<> started = fleet.StartControlPlanes();
//   ...
//   kube::Result<> placed = fleet.Await("Placement web selects east", [&] { return ...; });
//
// Thread: one; the event loop runs inside of the calls only.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "fleet/e2e/demo/operator_stand_in.h"
#include "fleet/e2e/demo/watched_api.h"
#include "fleet/e2e/fleet_cluster.h"

namespace e2e {

class DemoFleet {
 public:
  struct Options {
    // The folder with the programs of a control plane.
    std::string assets;
    // The folder for data and logs; must exist.
    std::string folder;
    // The names of the members.
    std::vector<std::string> members;
    // Timeout for each Await(), enough for a busy machine; most take a few seconds.
    std::chrono::seconds timeout{180};
  };

  // `out` must outlive it. From now on, SIGINT and SIGTERM end Await() instead of the process.
  DemoFleet(Options options, std::ostream& out);
  ~DemoFleet();
  DemoFleet(const DemoFleet&) = delete;
  DemoFleet& operator=(const DemoFleet&) = delete;

  // Starts an API server for the hub and for each member, and waits until they are ready and serve
  // the CRDs.
  kube::Result<> StartControlPlanes();
  // Starts the hub's program with cluster-admin rights on its API server, as the owner of the
  // membership.
  kube::Result<> StartHub();
  // The agent authenticates on the hub with a token of its ServiceAccount there, which the hub must
  // have created.
  kube::Result<> StartAgent(const std::string& member);

  // `name` must be one of Options::members.
  FleetCluster& hub() { return *hub_.cluster; }
  FleetCluster& member(const std::string& name) { return *Of(name).cluster; }
  // What is known of them.
  WatchedApi& at_hub() { return *hub_.api; }
  WatchedApi& at_member(const std::string& name) { return *Of(name).api; }

  // Waits until `holds`, and prints `what` with the time. Errors: kDeadlineExceeded with `what`,
  // kUnavailable if a program has ended, kCancelled after a signal.
  kube::Result<> Await(const std::string& what, const std::function<bool()>& holds);

  // Waits for SIGINT or SIGTERM. Errors: kUnavailable if a program has ended.
  kube::Result<> AwaitSignal();

  // Prints a title line, and a line with the time.
  void Title(const std::string& text) { out_ << "\n== " << text << std::endl; }
  void Say(const std::string& where, const std::string& text);

  // Called with each change of an object on the hub, for what must hold at every moment.
  void OnHubChange(std::function<void()> check) { hub_check_ = std::move(check); }

  // The starts of kubectl commands for the hub and for each member, for another terminal.
  std::vector<std::string> KubectlCommands();

  // Ends the hub's program at once, for tests.
  void KillHub() { hub_.cluster->Program("hub")->Signal(SIGKILL); }
  // The ends of all programs' logs.
  std::string Logs();

 private:
  // A cluster with the fleet's program for it: the hub, or an agent.
  struct Watched {
    std::string name;
    std::unique_ptr<FleetCluster> cluster;
    std::unique_ptr<WatchedApi> api;
    std::unique_ptr<OperatorStandIn> operator_stand_in;  // of a member
  };

  Watched& Of(const std::string& member);
  kube::Result<> Launch(Watched& watched, int number);
  // Waits until the API server answers and serves the CRDs in the folder `crds`.
  kube::Result<> Serve(Watched& watched, const std::string& crds,
                       const std::vector<kube::Resource>& followed);
  void OnChange(Watched& watched, const kube::Resource& resource, const kube::Json& before,
                const kube::Json& after);
  // kUnavailable if a program has ended.
  kube::Result<> AllRun();
  // All that are launched, the hub first.
  std::vector<Watched*> All();

  Options options_;
  std::ostream& out_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::shared_ptr<boost::asio::io_context> io_ = std::make_shared<boost::asio::io_context>(1);
  boost::asio::signal_set signals_;
  int signal_ = 0;  // that was received
  bool quiet_ = false;
  std::function<void()> hub_check_;
  Watched hub_;  // outlives the members, which use its etcd
  std::vector<std::unique_ptr<Watched>> members_;
};

}  // namespace e2e
