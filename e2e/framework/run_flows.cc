// SPDX-License-Identifier: Apache-2.0
#include "e2e/framework/run_flows.h"

#include <glog/logging.h>

namespace e2e {

int RunFlows(int argc, char** argv, std::unique_ptr<testing::Environment> cluster) {
  testing::InitGoogleTest(&argc, argv);
  google::InitGoogleLogging(argv[0]);
  FLAGS_logtostderr = true;
  testing::AddGlobalTestEnvironment(cluster.release());  // GoogleTest deletes it
  return RUN_ALL_TESTS();
}

}  // namespace e2e
