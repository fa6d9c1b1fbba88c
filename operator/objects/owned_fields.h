// SPDX-License-Identifier: Apache-2.0
// OwnedFields: the part of a stored object that a field manager has applied. An object whose part
// equals the desired object needs no write. Pure.
//
// Which fields a manager owns is in metadata.managedFields; a client can forge it, but not the
// values: changing a value or the list of owned fields makes the part differ. Fields that others
// added do not count, as in server-side apply.
// Source: Kubernetes "Server-Side Apply", FieldsV1 of structured-merge-diff 4.
#pragma once

#include <string_view>

#include "kube/types/unstructured.h"

namespace operator_ {

// The fields of `object` that `manager` owns by server-side apply, without apiVersion, kind, name
// and namespace, which no manager owns. Empty if the manager owns none.
kube::Json OwnedFields(const kube::Json& object, std::string_view manager);

// What OwnedFields() returns once `desired` has been applied, provided that the API server neither
// rewrites nor adds values in lists and objects that are applied as a whole.
kube::Json FieldsToOwn(kube::Json desired);

}  // namespace operator_
