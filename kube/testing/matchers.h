// SPDX-License-Identifier: Apache-2.0
// Matchers for Result: a test names the error that it expects.
//
//   EXPECT_THAT(Run(io, Get<core::Pod>(api, key)), FailsWith(Code::kNotFound));
//   EXPECT_THAT(ParseTime("yesterday"), FailsWith(Code::kInvalid, HasSubstr("RFC 3339")));
//   ASSERT_THAT(Run(io, elector.Acquire()), IsOk());
#pragma once

#include <gmock/gmock.h>

#include <ostream>
#include <type_traits>

#include "kube/base/error.h"

namespace kube {

class FailsWith {
 public:
  using is_gtest_matcher = void;

  explicit FailsWith(Code code, testing::Matcher<const std::string&> message = testing::_)
      : code_(code), message_(std::move(message)) {}

  template <class T>
  bool MatchAndExplain(const Result<T>& result, testing::MatchResultListener* listener) const {
    if (result) {
      *listener << "which did not fail";
      return false;
    }
    *listener << "which failed with " << result.error();
    return result.error().code() == code_ && message_.Matches(result.error().message());
  }
  void DescribeTo(std::ostream* out) const {
    *out << "fails with " << CodeName(code_) << " and a message that ";
    message_.DescribeTo(out);
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "does not fail with " << CodeName(code_);
  }

 private:
  Code code_;
  testing::Matcher<const std::string&> message_;
};

class IsOk {
 public:
  using is_gtest_matcher = void;

  template <class T>
  bool MatchAndExplain(const Result<T>& result, testing::MatchResultListener* listener) const {
    if (!result) *listener << "which failed with " << result.error();
    return result.has_value();
  }
  void DescribeTo(std::ostream* out) const { *out << "is ok"; }
  void DescribeNegationTo(std::ostream* out) const { *out << "is an error"; }
};

// For googletest's messages: Boost's operator<< needs a printable value.
template <class T>
void PrintTo(const Result<T>& result, std::ostream* out) {
  if (!result) {
    *out << result.error();
    return;
  }
  if constexpr (std::is_void_v<T>) {
    *out << "ok";
  } else {
    *out << testing::PrintToString(*result);
  }
}

}  // namespace kube
