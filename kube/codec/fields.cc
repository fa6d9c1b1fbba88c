// SPDX-License-Identifier: Apache-2.0
#include "kube/codec/fields.h"

#include <google/protobuf/wire_format_lite.h>

#include <limits>

namespace kube {

using google::protobuf::internal::WireFormatLite;

FieldReader::FieldReader(std::string_view message)
    : message_(message),
      in_(reinterpret_cast<const uint8_t*>(message.data()),
          message.size() > std::numeric_limits<int>::max() ? 0 : static_cast<int>(message.size())),
      broken_(message.size() > std::numeric_limits<int>::max()) {}

bool FieldReader::Next() {
  if (broken_) return false;
  begin_ = static_cast<size_t>(in_.CurrentPosition());
  uint32_t tag = in_.ReadTag();
  if (tag == 0) {
    broken_ = !in_.ConsumedEntireMessage();
    return false;
  }
  number_ = WireFormatLite::GetTagFieldNumber(tag);
  bytes_ = {};
  if (WireFormatLite::GetTagWireType(tag) != WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
    broken_ = !WireFormatLite::SkipField(&in_, tag);
    return !broken_;
  }
  uint32_t size = 0;
  const void* data = nullptr;
  int available = 0;
  broken_ = !in_.ReadVarint32(&size);
  if (broken_ || size == 0) return !broken_;
  broken_ =
      !in_.GetDirectBufferPointer(&data, &available) || size > static_cast<uint32_t>(available);
  if (broken_) return false;
  bytes_ = {static_cast<const char*>(data), size};
  in_.Skip(static_cast<int>(size));
  return true;
}

}  // namespace kube
