// SPDX-License-Identifier: Apache-2.0
// Error and Result: how every fallible function reports a failure.
//
//   Result<Pod> pod = Decode<Pod>(bytes);
//   if (!pod) return pod.error().Prefix("decode pod ns/web");
//   Use(*pod);
//
// Codes form a closed set. Error::FromHttpStatus() is the only mapping from the API server's HTTP
// statuses. The Status's reason ("AlreadyExists") and details.causes travel next to the code.
#pragma once

#include <boost/assert/source_location.hpp>
#include <boost/system/result.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace kube {

enum class Code {
  kNotFound,          // 404
  kAlreadyExists,     // 409, reason AlreadyExists
  kConflict,          // 409: the resourceVersion is not the newest; read and decide again
  kExpired,           // 410: the resourceVersion is too old; list again
  kInvalid,           // 400, 422 and input that does not parse: the same call fails again
  kUnauthenticated,   // 401
  kPermissionDenied,  // 403
  kThrottled,         // 429, see retry_after()
  kUnavailable,       // 5xx, refused or broken connections
  kDeadlineExceeded,  // not from the server: the caller's deadline passed
  kCancelled,         // not from the server: the process or task is stopping
  kInternal,          // a caught exception, or an unexpected HTTP status
};

// "NotFound", "AlreadyExists", ...
std::string_view CodeName(Code code);

// One entry of a Status's details.causes.
struct Cause {
  std::string reason;  // "NamespaceTerminating"
  std::string message;
  std::string field;  // "metadata.name"; mostly of validation errors
};

class Error {
 public:
  // Limits of causes(): the API server's answer is untrusted.
  static constexpr size_t kMaxCauses = 16;
  static constexpr size_t kMaxCauseBytes = 256;  // of each string

  // kInternal without a message; boost::system::result requires a default constructor.
  Error() : Error(Code::kInternal, "") {}

  static Error NotFound(std::string message) { return {Code::kNotFound, std::move(message)}; }
  static Error AlreadyExists(std::string message) {
    return {Code::kAlreadyExists, std::move(message)};
  }
  static Error Conflict(std::string message) { return {Code::kConflict, std::move(message)}; }
  static Error Invalid(std::string message) { return {Code::kInvalid, std::move(message)}; }
  static Error Unauthenticated(std::string message) {
    return {Code::kUnauthenticated, std::move(message)};
  }
  static Error PermissionDenied(std::string message) {
    return {Code::kPermissionDenied, std::move(message)};
  }
  static Error Throttled(std::string message) { return {Code::kThrottled, std::move(message)}; }
  static Error Unavailable(std::string message) { return {Code::kUnavailable, std::move(message)}; }
  static Error DeadlineExceeded(std::string message) {
    return {Code::kDeadlineExceeded, std::move(message)};
  }
  static Error Cancelled(std::string message) { return {Code::kCancelled, std::move(message)}; }
  static Error Internal(std::string message) { return {Code::kInternal, std::move(message)}; }

  // The error of an HTTP response of the API server; `reason` is Status.reason and may be empty.
  static Error FromHttpStatus(int status, std::string reason, std::string message);

  // The same error, with "context: " in front of its message.
  [[nodiscard]] Error Prefix(std::string_view context) const;
  // The same error, with the delay that the server asked for (Retry-After).
  [[nodiscard]] Error WithRetryAfter(std::chrono::seconds delay) const;
  // The same error with these causes, cut to kMaxCauses entries and kMaxCauseBytes per string.
  [[nodiscard]] Error WithCauses(std::vector<Cause> causes) const;
  // The same error, marked as one that a controller must not retry.
  [[nodiscard]] Error AsTerminal() const;

  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& reason() const { return reason_; }
  const std::vector<Cause>& causes() const;
  bool HasCause(std::string_view reason) const;
  std::optional<std::chrono::seconds> retry_after() const { return retry_after_; }
  bool terminal() const { return terminal_; }

  // "NotFound: pod ns/web"
  std::string ToString() const;

 private:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code_;
  bool terminal_ = false;
  std::string message_;
  std::string reason_;
  // Null without causes; shared because results are copied often and causes are rare.
  std::shared_ptr<const std::vector<Cause>> causes_;
  std::optional<std::chrono::seconds> retry_after_;
};

std::ostream& operator<<(std::ostream& out, const Error& error);

// Called by Boost for value() of a failed Result. That is a bug of the caller and ends the process.
[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

template <class T = void>
using Result = boost::system::result<T, Error>;

inline Result<void> Ok() { return {}; }

template <class T>
bool FailedWith(const Result<T>& result, Code code) {
  return !result && result.error().code() == code;
}
template <class T>
bool IsNotFound(const Result<T>& result) {
  return FailedWith(result, Code::kNotFound);
}
template <class T>
bool IsConflict(const Result<T>& result) {
  return FailedWith(result, Code::kConflict);
}

}  // namespace kube
