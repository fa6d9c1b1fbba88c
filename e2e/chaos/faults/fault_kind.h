// SPDX-License-Identifier: Apache-2.0
// FaultKind: one kind of fault, how it begins and how it ends. faults.h has the table of all.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "e2e/chaos/plan/plan.h"
#include "e2e/chaos/stage/stage.h"

namespace e2e {

// Ends a fault, whatever has happened to what it disturbs.
using EndFault = std::function<void(Stage&)>;

struct FaultKind {
  FaultOutline outline;
  // What is done, and what must hold in the meantime; for the page.
  std::string what;
  std::string holds;
  // `pick`: which of several, modulo their number. Errors: kNotFound, kUnavailable,
  // kPermissionDenied if it is not possible now, or on this machine; then there is no fault.
  std::function<kube::Result<EndFault>(Stage& stage, uint64_t pick)> begin;
};

// The areas: faults of one do not overlap.
inline constexpr char kPodsLinkArea[] = "links of the operator";
inline constexpr char kEtcdLinkArea[] = "links of etcd";
inline constexpr char kApiServerArea[] = "API servers";
inline constexpr char kEtcdArea[] = "etcd";
inline constexpr char kControllersArea[] = "controllers of Kubernetes";
inline constexpr char kRegistryArea[] = "registry";
inline constexpr char kDiskArea[] = "disk of the pods";
// Of the operator's programs, one for each program.
inline std::string AreaOfProgram(const std::string& program) { return "program " + program; }

}  // namespace e2e
