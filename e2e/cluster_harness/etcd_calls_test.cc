// SPDX-License-Identifier: Apache-2.0
#include "e2e/cluster_harness/etcd_calls.h"

#include <gtest/gtest.h>

namespace e2e {
namespace {

// As etcd 3.6 answers.
std::string Answer(const std::string& leader) {
  return R"({"header":{"cluster_id":"1","member_id":"10276657743932975437","revision":"4711",)"
         R"("raft_term":"2"},"version":"3.6.7","dbSize":"20480","leader":")" +
         leader + R"(","raftIndex":"5"})";
}

TEST(EtcdCallsTest, TheLeaderIsTheMemberThatAnswers) {
  auto status = ParseEtcdStatus(Answer("10276657743932975437"));
  ASSERT_TRUE(status) << status.error();
  EXPECT_TRUE(status->leads);
  EXPECT_EQ(status->revision, 4711);
}

TEST(EtcdCallsTest, AnotherMemberLeads) {
  auto status = ParseEtcdStatus(Answer("8"));
  ASSERT_TRUE(status) << status.error();
  EXPECT_FALSE(status->leads);
}

TEST(EtcdCallsTest, WithoutLeaderItDoesNotWork) {
  for (const std::string& answer : {Answer("0"), std::string("{}")}) {
    auto status = ParseEtcdStatus(answer);
    ASSERT_FALSE(status) << answer;
    EXPECT_EQ(status.error().code(), kube::Code::kUnavailable);
  }
}

TEST(EtcdCallsTest, WhatIsNoJsonIsInvalid) {
  auto status = ParseEtcdStatus("<html>");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), kube::Code::kInvalid);
}

}  // namespace
}  // namespace e2e
