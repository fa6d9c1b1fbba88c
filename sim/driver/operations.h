// SPDX-License-Identifier: Apache-2.0
// Operations: what a plan can do, as tables. A new one is an entry of one of them: its name, how
// often it is made, its parameters, how a seed makes them, and what it does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kube/base/error.h"
#include "kube/types/unstructured.h"
#include "sim/driver/maker.h"
#include "sim/driver/stage.h"

namespace sim {

// A parameter. All are needed.
struct Parameter {
  enum Kind { kText, kNumber, kYesNo, kTexts, kObject };
  std::string name;
  Kind kind;
  // Of kText and kTexts: what is allowed; empty: everything.
  std::vector<std::string> allowed = {};
};

struct Operation {
  std::string name;
  // How often it is in plans; 0: only where somebody writes it.
  int weight;
  // Something fails; else it is what users do.
  bool is_fault;
  std::vector<Parameter> parameters;
  kube::Json (*make)(Maker& maker);
  void (*apply)(Stage& stage, const kube::Json& with);
};

// All of them.
const std::vector<Operation>& Operations();
// nullptr: there is none.
const Operation* FindOperation(std::string_view name);
// Errors: kInvalid for an unknown operation, and for parameters that it does not have.
kube::Result<void> CheckParameters(std::string_view operation, const kube::Json& with);

// The tables.
std::vector<Operation> PodOperations();
std::vector<Operation> ConfigOperations();
std::vector<Operation> FaultOperations();

}  // namespace sim
