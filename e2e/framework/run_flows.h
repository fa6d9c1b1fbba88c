// SPDX-License-Identifier: Apache-2.0
// The main() of both tiers.
#pragma once

#include <gtest/gtest.h>

#include <memory>

namespace e2e {

// Runs all linked flows. `cluster` calls SetTheCluster() in its SetUp(). Returns the exit code.
int RunFlows(int argc, char** argv, std::unique_ptr<testing::Environment> cluster);

}  // namespace e2e
