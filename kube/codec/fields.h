// SPDX-License-Identifier: Apache-2.0
// FieldReader: iterates over the fields of a protobuf message without decoding or copying them.
// Used for envelopes and for the fields that decide whether a message is decoded at all.
//
//   FieldReader fields(message);
//   while (fields.Next()) {
//     if (fields.number() == 2) raw = fields.bytes();
//   }
//   if (fields.broken()) return Error::Invalid("...");
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <string_view>

namespace kube {

class FieldReader {
 public:
  // `message` outlives the reader and the views from bytes() and whole().
  explicit FieldReader(std::string_view message);

  // Moves to the next field; false after the last field and at malformed bytes.
  bool Next();
  // True if Next() stopped at malformed bytes.
  bool broken() const { return broken_; }

  int number() const { return number_; }
  // The content of a string, bytes or message field; "" for another type.
  std::string_view bytes() const { return bytes_; }
  // The encoded field with its tag.
  std::string_view whole() const {
    return message_.substr(begin_, static_cast<size_t>(in_.CurrentPosition()) - begin_);
  }

 private:
  std::string_view message_;
  google::protobuf::io::CodedInputStream in_;
  bool broken_ = false;
  size_t begin_ = 0;
  int number_ = 0;
  std::string_view bytes_;
};

}  // namespace kube
