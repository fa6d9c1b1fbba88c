// SPDX-License-Identifier: Apache-2.0
// Error and Result: how every fallible function reports a failure.
//
//   Result<Pod> pod = Decode<Pod>(bytes);
//   if (!pod) return pod.error().Prefix("decode pod ns/web");
//   Use(*pod);
//
// Codes form a closed set. Error::FromHttpStatus() is the only mapping from the API server's HTTP
// statuses. The Status's reason ("AlreadyExists") and details.causes travel next to the code; no
// decision reads the message, except where the API server tells a difference nowhere else
// (kube/client/refusal.h).
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

// A code says what the caller can do. The numbers are HTTP statuses of the API server; code of the
// project gives the same codes to its own failures.
enum class Code {
  // 404. The object, or its kind, does not exist. Often no failure: a reconciler has nothing left
  // to do. Not for a value that is missing in an object: kInvalid.
  kNotFound,
  // 409 with the reason AlreadyExists. Only a create fails with it; read the other object.
  kAlreadyExists,
  // 409: the resourceVersion is not the newest. Read and decide again; the same write fails again.
  kConflict,
  // 410: the resourceVersion or the continue token is too old. List again.
  kExpired,
  // 400, 405, 406, 413, 415, 422, and input that does not parse. The same call fails again.
  kInvalid,
  // 401. The credentials are missing, unknown or expired; newer ones may work.
  kUnauthenticated,
  // 403. The caller is known but has no permission, or an admission policy or a quota denies the
  // contents. A retry helps only after a change by others. IsRefusal() separates the two.
  kPermissionDenied,
  // 429. Retry, not before retry_after(). Not for a limit of the caller itself: kUnavailable.
  kThrottled,
  // 408, 5xx, and connections that are refused or break. Retry with backoff; a write may have taken
  // effect.
  kUnavailable,
  // The caller's own deadline passed; a write may have taken effect. A timeout of the server is
  // kUnavailable.
  kDeadlineExceeded,
  // The process or the task is stopping. Return; do not retry, log or count it.
  kCancelled,
  // A caught exception, or a status that is not in this list: a bug. Not for bad input: kInvalid.
  kInternal,
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

// A value or an Error. A dropped one does not compile, and lint finds a co_await that drops one.
// Where either outcome is right, the code says so: IgnoreError(Remove(path), "it may be gone").
template <class T = void>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
 public:
  using boost::system::result<T, Error>::result;
};

inline Result<void> Ok() { return {}; }

// For a call whose failure changes nothing for the caller; `why` tells the reader.
template <class T>
void IgnoreError(const Result<T>& result, std::string_view why) {
  static_cast<void>(result);
  static_cast<void>(why);
}

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
