// SPDX-License-Identifier: Apache-2.0
#include "sim/cluster/api_server.h"

#include <gtest/gtest.h>

#include <memory>

#include "kube/testing/make_pod.h"
#include "kube/testing/matchers.h"
#include "kube/testing/trusted_calls.h"
#include "kube/types/kinds.h"

namespace sim {
namespace {

using namespace std::chrono_literals;
using kube::Result;
using kube::core::Pod;

class ApiServerTest : public testing::Test {
 protected:
  // The pods of a list, as `query` asks for it, at a server whose cache is `age` behind.
  size_t Pods(const std::string& query, kube::Duration age) {
    size_t pods = 0;
    server_.Carry(
        "ann", {.target = kube::kPods.Path("shop") + query},
        [&pods](Result<kube::ApiResponse> answer) {
          ASSERT_THAT(answer, kube::IsOk());
          pods = kube::ParseJson(answer->body)->at("items").size();
        },
        age);
    loop_.RunUntil(loop_.now() + 1ms);
    return pods;
  }
  void Create(const std::string& name) {
    kube::TrustedCalls(store_).Create<Pod>(kube::MakePod(name).Namespace("shop"));
  }
  void Pass(kube::Duration time) { loop_.RunUntil(loop_.now() + time); }

  Loop loop_{Random(1)};
  kube::FakeStore store_;
  ApiServer server_{loop_, store_};
};

TEST_F(ApiServerTest, OnlyReadsOfAnyVersionAreOld) {
  Create("old");
  Pass(10s);
  Create("new");
  EXPECT_EQ(Pods("?resourceVersion=0", 3s), 1u);
  EXPECT_EQ(Pods("?resourceVersion=0", 0s), 2u);
  EXPECT_EQ(Pods("", 3s), 2u) << "the newest state";
  Pass(4s);
  EXPECT_EQ(Pods("?resourceVersion=0", 3s), 2u);
}

}  // namespace
}  // namespace sim
