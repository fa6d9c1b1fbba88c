// SPDX-License-Identifier: Apache-2.0
// FieldReader: walks the fields of a protobuf message without decoding or copying anything; for
// envelopes, and for the few fields that tell whether a message is worth decoding.
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
  // `message` outlives the reader and what bytes() returns.
  explicit FieldReader(std::string_view message);

  // Goes to the next field; false after the last one, and where no field can follow.
  bool Next();
  // What is there is no protobuf message (to its end).
  bool broken() const { return broken_; }

  int number() const { return number_; }
  // Of a string, a bytes field or a message; "" for fields of another type.
  std::string_view bytes() const { return bytes_; }
  // The whole field as it stands in the message, its tag included.
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
