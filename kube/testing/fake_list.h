// SPDX-License-Identifier: Apache-2.0
// The response to a LIST of a FakeStore: selectors, pages, and the order of etcd's keys.
#pragma once

#include <cstdint>
#include <string>

#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/testing/fake_call.h"
#include "kube/testing/fake_history.h"

namespace kube {

// The version of the list that a continue token ("version|ns/name") goes on with.
uint64_t VersionOfToken(const std::string& token);

// A page of `objects`, the state of the collection at `version`.
// Errors: kInvalid for a field selector that the kind does not support, and for an object that has
// not the encoding of the request.
Result<ApiResponse> ListPage(const FakeCall& call, const FakeObjects& objects, uint64_t version);

}  // namespace kube
