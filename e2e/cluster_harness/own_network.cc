// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/own_network.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "e2e/cluster_harness/child_process.h"

namespace e2e {
namespace {

using kube::Error;
using kube::Ok;
using kube::Result;

Result<> RunIp(std::vector<std::string> args) {
  Result<Finished> finished = RunToEnd({.path = "ip", .args = std::move(args)});
  if (!finished) return finished.error();
  if (finished->status != 0) return Error::Unavailable("ip: " + finished->output);
  return Ok();
}

// Maps this user to root of the new user namespace.
bool BecomeRootOfOwnUserNamespace(uid_t uid, gid_t gid) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << "0 " << uid << " 1";
  std::ofstream("/proc/self/gid_map") << "0 " << gid << " 1";
  return geteuid() == 0;
}

Result<> Enter() {
  uid_t uid = geteuid();
  gid_t gid = getegid();
  if (unshare(CLONE_NEWNET) != 0 && !BecomeRootOfOwnUserNamespace(uid, gid)) {
    return Error::PermissionDenied(std::string("cannot make a network namespace: ") +
                                   std::strerror(errno));
  }
  Result<> up = RunIp({"link", "set", "lo", "up"});
  if (!up) return up.error();
  return RunIp({"route", "add", "local", std::string(kPodNetwork), "dev", "lo"});
}

}  // namespace

Result<> EnterOwnNetwork() {
  static const Result<> entered = Enter();
  return entered;
}

}  // namespace e2e
