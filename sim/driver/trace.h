// SPDX-License-Identifier: Apache-2.0
// What --trace prints. Pure.
#pragma once

#include <functional>
#include <string>

#include "kube/testing/store_commit.h"
#include "sim/checker/commit.h"
#include "sim/driver/plan.h"

namespace sim {

// Called with each line.
using Tell = std::function<void(const std::string& line)>;

// "12.345 shard update pods shop/web by ...: remove /spec/schedulingGates, ..."
std::string DescribeCommit(const kube::StoreCommit& commit, checker::Time at);
std::string DescribeStep(const Step& step);

}  // namespace sim
