// SPDX-License-Identifier: Apache-2.0
// CallKind(): what a call of FakeApiServer::calls() does, without names, as an audit log shows it:
// "create events", "update pods", "patch deployments", "update podplacementconfigs/status".
//
//   EXPECT_THAT(CountKinds(api.calls(), begin), ElementsAre(Pair("update pods", 1)));
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kube {

std::string CallKind(const std::string& call);

// The number of each kind in `calls` from `begin` on. Sets `begin` to the end.
std::map<std::string, int> CountKinds(const std::vector<std::string>& calls, size_t& begin);

}  // namespace kube
