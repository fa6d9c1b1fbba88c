// SPDX-License-Identifier: Apache-2.0
#include "kube/base/error.h"

#include <glog/logging.h>

#include <algorithm>

namespace kube {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kNotFound:
      return "NotFound";
    case Code::kAlreadyExists:
      return "AlreadyExists";
    case Code::kConflict:
      return "Conflict";
    case Code::kExpired:
      return "Expired";
    case Code::kInvalid:
      return "Invalid";
    case Code::kUnauthenticated:
      return "Unauthenticated";
    case Code::kPermissionDenied:
      return "PermissionDenied";
    case Code::kThrottled:
      return "Throttled";
    case Code::kUnavailable:
      return "Unavailable";
    case Code::kDeadlineExceeded:
      return "DeadlineExceeded";
    case Code::kCancelled:
      return "Cancelled";
    case Code::kInternal:
      return "Internal";
  }
  LOG(FATAL) << "unknown code " << static_cast<int>(code);
}

Error Error::FromHttpStatus(int status, std::string reason, std::string message) {
  auto code = [&] {
    switch (status) {
      case 400:
      case 405:
      case 406:
      case 413:
      case 415:
      case 422:
        return Code::kInvalid;
      case 401:
        return Code::kUnauthenticated;
      case 403:
        return Code::kPermissionDenied;
      case 404:
        return Code::kNotFound;
      case 408:
        return Code::kUnavailable;
      case 409:
        return reason == "AlreadyExists" ? Code::kAlreadyExists : Code::kConflict;
      case 410:
        return Code::kExpired;
      case 429:
        return Code::kThrottled;
      default:
        return status >= 500 ? Code::kUnavailable : Code::kInternal;
    }
  };
  Error error(code(), std::move(message));
  error.reason_ = std::move(reason);
  return error;
}

Error Error::Prefix(std::string_view context) const {
  Error error = *this;
  error.message_ = std::string(context) + ": " + message_;
  return error;
}

Error Error::WithRetryAfter(std::chrono::seconds delay) const {
  Error error = *this;
  error.retry_after_ = delay;
  return error;
}

Error Error::WithCauses(std::vector<Cause> causes) const {
  Error error = *this;
  if (causes.size() > kMaxCauses) causes.resize(kMaxCauses);
  for (Cause& cause : causes) {
    for (std::string* text : {&cause.reason, &cause.message, &cause.field}) {
      if (text->size() > kMaxCauseBytes) text->resize(kMaxCauseBytes);
    }
  }
  error.causes_ = causes.empty() ? nullptr : std::make_shared<const std::vector<Cause>>(causes);
  return error;
}

const std::vector<Cause>& Error::causes() const {
  static const std::vector<Cause>& none = *new std::vector<Cause>;
  return causes_ == nullptr ? none : *causes_;
}

bool Error::HasCause(std::string_view reason) const {
  return std::any_of(causes().begin(), causes().end(),
                     [&](const Cause& cause) { return cause.reason == reason; });
}

Error Error::AsTerminal() const {
  Error error = *this;
  error.terminal_ = true;
  return error;
}

std::string Error::ToString() const { return std::string(CodeName(code_)) + ": " + message_; }

std::ostream& operator<<(std::ostream& out, const Error& error) { return out << error.ToString(); }

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  LOG(FATAL) << "value() of a failed Result at " << where.to_string() << ": " << error;
}

}  // namespace kube
