// SPDX-License-Identifier: Apache-2.0
// The bytes of a message with its maps in the order of their keys: the same for the same content.
#pragma once

#include <google/protobuf/message_lite.h>

#include <string>

namespace kube {

std::string SerializeInOrder(const google::protobuf::MessageLite& message);

}  // namespace kube
