// SPDX-License-Identifier: Apache-2.0
// What a PATCH makes of an object of a FakeStore.
#pragma once

#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/testing/fake_object.h"

namespace kube {

// `object` with the patch in the body of `request`: a JSON patch (RFC 6902), or a merge patch
// (RFC 7386), as which server-side apply and strategic merge patches are treated too. Of a protobuf
// object only annotations can be patched.
// Errors: kInvalid for a patch that does not parse or apply.
Result<FakeObject> Patched(FakeObject object, const ApiRequest& request);

// The object that an apply patch creates.
Result<FakeObject> CreatedByApply(const ApiRequest& request);

}  // namespace kube
