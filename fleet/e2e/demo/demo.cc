// SPDX-License-Identifier: Apache-2.0
// The demo of `make fleet-demo`: a hub and two members on this machine. KUBEBUILDER_ASSETS names
// the folder with the programs of a control plane. With --keep, the fleet runs on after the steps,
// until Ctrl-C. Exits with 0 if every step was seen, 1 if one failed, 2 if the demo cannot start,
// 130 after Ctrl-C before its end. No process is left; the logs are left if a step failed.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>

#include "e2e/cluster_harness/own_network.h"
#include "fleet/e2e/demo/demo_fleet.h"
#include "fleet/e2e/demo/fleet_demo.h"

namespace e2e {
namespace {

// A new folder, which only this user can read; "" if none can be made.
std::string NewFolder() {
  std::error_code ec;
  std::string folder = std::filesystem::temp_directory_path(ec).string() + "/fleet-demo.XXXXXX";
  if (ec || mkdtemp(folder.data()) == nullptr) return "";
  return folder;
}

// Prints how to look around, and waits for Ctrl-C.
kube::Result<> Keep(DemoFleet& fleet) {
  fleet.Title("to look around");
  const char* what = "placements,placementdecisions,fleetpodplacements --namespace=team";
  for (const std::string& kubectl : fleet.KubectlCommands()) {
    std::cout << "  " << kubectl << " get " << what << std::endl;
    what = "nodes,podplacementconfigs --namespace=shop";  // of a member
  }
  std::cout << "Ctrl-C ends the fleet." << std::endl;
  return fleet.AwaitSignal();
}

int RunDemo(const std::string& assets, const std::string& folder, bool keep) {
  DemoFleet fleet(
      {.assets = assets, .folder = folder, .members = {FleetDemo::kEast, FleetDemo::kWest}},
      std::cout);
  kube::Result<> done = FleetDemo(fleet).Run();
  if (done && keep) done = Keep(fleet);
  if (done) {
    std::cout << "\nEvery step was reported by the API servers. The objects of the demo are in "
                 "fleet/e2e/demo/objects."
              << std::endl;
    return 0;
  }
  if (FailedWith(done, kube::Code::kCancelled)) {
    std::cerr << "\nfleet-demo: " << done.error().message() << std::endl;
    return 130;
  }
  std::cerr << fleet.Logs() << "\nfleet-demo: " << done.error() << std::endl;
  return 1;
}

int Main(int argc, char** argv) {
  const bool keep = argc == 2 && std::string_view(argv[1]) == "--keep";
  if (argc > 1 && !keep) {
    std::cerr << "usage: fleet-demo [--keep]" << std::endl;
    return 2;
  }
  const char* assets = std::getenv("KUBEBUILDER_ASSETS");
  if (assets == nullptr || *assets == '\0') {
    std::cerr << "fleet-demo: KUBEBUILDER_ASSETS is not set; `make fleet-demo` sets it"
              << std::endl;
    return 2;
  }
  kube::Result<> network = EnterOwnNetwork();
  if (!network) {
    std::cerr << "fleet-demo: " << network.error() << std::endl;
    return 2;
  }
  std::string folder = NewFolder();
  if (folder.empty()) {
    std::cerr << "fleet-demo: cannot make a folder for data and logs" << std::endl;
    return 2;
  }
  int status = RunDemo(assets, folder, keep);
  if (status == 1) {
    std::cerr << "fleet-demo: all logs are in " << folder << std::endl;
    return status;
  }
  std::error_code ec;
  std::filesystem::remove_all(folder, ec);
  return status;
}

}  // namespace
}  // namespace e2e

int main(int argc, char** argv) { return e2e::Main(argc, argv); }
