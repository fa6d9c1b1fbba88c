// SPDX-License-Identifier: Apache-2.0
// What most translation units include of the libraries; parsed once, by
// bazel/precompiled_header.bzl. Files include what they use all the same: there are builds without
// this header (--define=precompiled=off).
//
// Each inclusion of Asio adds static initializers: only for targets that depend on it.
#include <glog/logging.h>
#include <google/protobuf/generated_message_util.h>
#include <google/protobuf/map_field_lite.h>
#include <google/protobuf/message_lite.h>
#include <google/protobuf/repeated_field.h>

#include <algorithm>
#include <array>
#include <boost/system/result.hpp>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#ifdef BOOST_ASIO_SEPARATE_COMPILATION
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#endif
