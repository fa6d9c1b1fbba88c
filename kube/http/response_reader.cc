// SPDX-License-Identifier: Apache-2.0
#include "kube/http/response_reader.h"

#include "kube/http/body_too_large.h"

namespace kube {
namespace {

namespace http = boost::beast::http;

// 100 Continue, 103 Early Hints.
constexpr int kMaxInformational = 8;
// What the parser may leave unconsumed in addition to a header: an incomplete line of a chunked
// body.
constexpr size_t kSlack = 16 * 1024;

}  // namespace

ResponseReader::ResponseReader(Connection& connection, Limits limits)
    : connection_(connection), limits_(limits) {
  Restart();
}

void ResponseReader::Restart() {
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(limits_.header_bytes));
  if (limits_.body_bytes) {
    parser_->body_limit(*limits_.body_bytes);
  } else {
    parser_->body_limit(boost::none);
  }
  parser_->skip(limits_.no_body);
}

Result<void> ResponseReader::Parse() {
  boost::system::error_code ec;
  auto& buffer = connection_.buffer();
  buffer.consume(parser_->put(buffer.data(), ec));
  if (!ec || ec == http::error::need_more) return Ok();
  if (ec == http::error::header_limit) {
    return Error::Invalid("response header larger than " + std::to_string(limits_.header_bytes) +
                          " bytes");
  }
  if (ec == http::error::body_limit) {
    constexpr int kBadRequest = 400;  // kInvalid
    return Error::FromHttpStatus(
        kBadRequest, kBodyTooLarge,
        "response body larger than " + std::to_string(*limits_.body_bytes) + " bytes");
  }
  return Error::Invalid("response is not HTTP: " + ec.message());
}

Async<> ResponseReader::ReadMore() {
  if (connection_.buffer().size() > limits_.header_bytes + kSlack) {
    co_return Error::Invalid("response line too long");
  }
  Result<bool> read = co_await connection_.Read();
  if (!read) co_return read.error();
  if (*read) {
    begun_ = true;
    co_return Ok();
  }
  if (!begun_) co_return Error::Unavailable("connection closed before the response");
  boost::system::error_code ec;
  parser_->put_eof(ec);
  if (ec) co_return Error::Unavailable("connection closed within the response");
  co_return Ok();
}

Async<> ResponseReader::ReadHeader() {
  for (int informational = 0; informational <= kMaxInformational; ++informational) {
    // Header.
    while (!parser_->is_header_done()) {
      Result<> more = co_await ReadMore();
      if (!more) co_return more.error();
      if (connection_.buffer().size() == 0) continue;
      Result<void> parsed = Parse();
      if (!parsed) co_return parsed.error();
      // The buffer may already have the response that follows a 1xx.
    }
    unsigned status = header().result_int();
    if (status == 101) co_return Error::Invalid("response switches protocols without being asked");
    if (status >= 200) {
      parser_->eager(true);
      co_return Ok();
    }
    Restart();
    if (connection_.buffer().size() > 0) {
      Result<void> parsed = Parse();
      if (!parsed) co_return parsed.error();
    }
  }
  co_return Error::Invalid("response has too many informational headers");
}

Async<std::string> ResponseReader::Next() {
  while (true) {
    std::string& piece = parser_->get().body();
    if (!piece.empty()) co_return std::exchange(piece, std::string());
    if (parser_->is_done()) co_return std::string();
    size_t before = connection_.buffer().size();
    if (before > 0) {
      Result<void> parsed = Parse();
      if (!parsed) co_return parsed.error();
      if (connection_.buffer().size() < before) continue;
    }
    Result<> more = co_await ReadMore();
    if (!more) co_return more.error();
  }
}

bool ResponseReader::reusable() const {
  return parser_->is_done() && parser_->keep_alive() && connection_.buffer().size() == 0;
}

}  // namespace kube
