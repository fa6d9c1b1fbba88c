// SPDX-License-Identifier: Apache-2.0
// FakeCall: a call to a FakeStore, parsed.
#pragma once

#include <string>

#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/testing/fake_target.h"
#include "kube/testing/store_commit.h"

namespace kube {

struct FakeCall {
  Caller caller;
  ApiRequest request;
  FakeTarget target;
  // dryRun=All, of the query or of the options of a DELETE: nothing is stored.
  bool dry_run = false;

  // Errors: kInvalid for another value of dryRun, kNotFound for no path of an object.
  static Result<FakeCall> Parse(Caller caller, ApiRequest request);
  // As RBAC names it: "create", "update", "patch", "delete" or "get".
  std::string Verb() const;
  bool WantsProtobuf() const { return request.accept.starts_with(kProtobuf); }
};

}  // namespace kube
