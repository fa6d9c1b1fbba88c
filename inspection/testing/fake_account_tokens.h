// SPDX-License-Identifier: Apache-2.0
// FakeAccountTokens: AccountTokens of accounts that the test names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspection/config/account_tokens.h"
#include "kube/base/async.h"
#include "kube/base/clock.h"

namespace inspection {

class FakeAccountTokens final : public AccountTokens {
 public:
  kube::Async<ServiceAccount> Account(PodIdentity pod, std::vector<std::string> keys,
                                      kube::TimePoint deadline) override {
    deadlines.push_back(deadline);
    if (account_failure) co_return *account_failure;
    auto found = accounts.find(pod.ns + "/" + pod.account);
    if (found == accounts.end()) co_return kube::Error::NotFound("not found");
    ServiceAccount account{.uid = found->second.uid, .annotations = {}};
    for (const std::string& key : keys) {
      auto annotation = found->second.annotations.find(key);
      if (annotation != found->second.annotations.end()) account.annotations.insert(*annotation);
    }
    co_return account;
  }
  kube::Async<std::string> Token(PodIdentity pod, std::string audience,
                                 kube::TimePoint deadline) override {
    deadlines.push_back(deadline);
    if (failure) co_return *failure;
    ++issued;
    co_return "token of " + pod.ns + "/" + pod.account + " for " + audience + ", " + pod.pod;
  }

  std::map<std::string, ServiceAccount> accounts;  // by "ns/name"
  std::optional<kube::Error> account_failure;      // of Account()
  std::optional<kube::Error> failure;              // of Token()
  std::vector<kube::TimePoint> deadlines;          // of all calls
  int issued = 0;
};

}  // namespace inspection
