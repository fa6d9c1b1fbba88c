// SPDX-License-Identifier: Apache-2.0
// What a PATCH makes of an object of a FakeStore.
#pragma once

#include <string>
#include <string_view>

#include "kube/base/error.h"
#include "kube/client/client.h"
#include "kube/testing/fake_object.h"

namespace kube {

// `object` with the patch in the body of `request`, in the encoding of `object`: a JSON patch
// (RFC 6902), or a merge patch (RFC 7386), as which server-side apply and strategic merge patches
// are treated too. An apply also removes what the last one of its manager had and it has not.
// Errors: kInvalid for a patch that does not parse or apply.
Result<FakeObject> Patched(const FakeObject& object, const ApiRequest& request);

// The object that an apply patch creates.
Result<FakeObject> CreatedByApply(std::string_view collection, const ApiRequest& request);

}  // namespace kube
