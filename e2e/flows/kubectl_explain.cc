// SPDX-License-Identifier: Apache-2.0
// `kubectl explain` describes every field of both kinds.
#include <cstdlib>

#include "e2e/cluster_harness/child_process.h"
#include "e2e/cluster_harness/process_cluster.h"
#include "e2e/framework/flow_fixture.h"

namespace e2e {
namespace {

class KubectlExplainFlow : public FlowFixture {
 protected:
  std::string Explain(std::vector<std::string> args) {
    args.insert(args.begin(), "explain");
    args.push_back("--kubeconfig=" + TheProcessCluster().control_plane().admin_kubeconfig());
    auto finished = RunToEnd({.path = std::string(std::getenv("KUBEBUILDER_ASSETS")) + "/kubectl",
                              .args = std::move(args)});
    EXPECT_TRUE(finished) << finished.error();
    if (!finished) return "";
    EXPECT_EQ(finished->status, 0) << finished->output;
    return finished->output;
  }
};

TEST_F(KubectlExplainFlow, DescribesEveryField) {
  for (const char* kind : {"podplacementconfigs", "clusterpodplacementconfigs"}) {
    std::string fields = Explain({kind, "--recursive"});
    EXPECT_NE(fields.find("architecture\t<string> -required-"), std::string::npos) << fields;
    for (const char* field :
         {"", ".spec", ".spec.plugins.nodeAffinityScoring.platforms", ".status.conditions"}) {
      std::string text = Explain({std::string(kind) + field});
      EXPECT_NE(text.find("DESCRIPTION:"), std::string::npos) << text;
      EXPECT_EQ(text.find("<no description>"), std::string::npos) << text;
      EXPECT_EQ(text.find("<empty>"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace e2e
