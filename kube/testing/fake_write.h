// SPDX-License-Identifier: Apache-2.0
// A write to a FakeStore, in two steps: what the caller asks for, and what the API server makes of
// it. Between them is admission, and the stored object may change meanwhile.
#pragma once

#include <optional>
#include <string>

#include "kube/base/clock.h"
#include "kube/base/error.h"
#include "kube/testing/fake_call.h"
#include "kube/testing/fake_object.h"

namespace kube {

struct FakeWrite {
  // What is stored; nullopt for a creation.
  std::optional<FakeObject> before;
  // What the caller asks for; nullopt for a deletion.
  std::optional<FakeObject> after;
};

// The first step: decodes the body, and applies a patch to what is stored.
// Errors: kNotFound, kInvalid.
Result<FakeWrite> PrepareWrite(const FakeCall& call, std::optional<FakeObject> stored);

// What the API server gives to a new object. `number` is unique to it.
struct NewIdentity {
  uint64_t number;
  WallTime now;
};

// The second step: the object with the fields that the server owns. The caller stores it.
// Errors: kInvalid without a name, or with another namespace than the request's.
Result<FakeObject> CreatedObject(const FakeCall& call, FakeObject object, NewIdentity identity);
// Errors: kConflict for another resourceVersion or uid than those of `before`.
Result<FakeObject> UpdatedObject(const FakeCall& call, const FakeObject& before, FakeObject object);
// Errors: kConflict if `before` does not meet the preconditions of a DELETE.
Result<void> CheckDeletion(const FakeCall& call, const FakeObject& before);

}  // namespace kube
