// SPDX-License-Identifier: Apache-2.0
// The descriptors of the messages of kube/types and of whole_kinds.proto: the programs have none,
// because they use protobuf's lite runtime.
#pragma once

#include <string_view>

namespace kube {

// A serialized google.protobuf.FileDescriptorSet.
std::string_view ApiDescriptors();

}  // namespace kube
