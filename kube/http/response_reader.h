// SPDX-License-Identifier: Apache-2.0
// ResponseReader: reads one response from a Connection, first the header, then the body in pieces;
// internal to kube/http.
//
// The peer is not trusted: header and body are bounded, and malformed HTTP is kInvalid.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <optional>
#include <string>

#include "kube/base/async.h"
#include "kube/http/connection.h"

namespace kube {

// A body that returns the bytes received so far. Beast's string_body would reserve memory by the
// peer's Content-Length.
struct PieceBody {
  using value_type = std::string;

  class reader {
   public:
    template <bool kRequest, class Fields>
    reader(boost::beast::http::header<kRequest, Fields>&, std::string& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& ec) { ec = {}; }
    template <class Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& ec) {
      ec = {};
      size_t size = 0;
      for (auto it = asio::buffer_sequence_begin(buffers); it != asio::buffer_sequence_end(buffers);
           ++it) {
        asio::const_buffer buffer = *it;
        body_.append(static_cast<const char*>(buffer.data()), buffer.size());
        size += buffer.size();
      }
      return size;
    }
    void finish(boost::system::error_code& ec) { ec = {}; }

   private:
    std::string& body_;
  };
};

class ResponseReader {
 public:
  struct Limits {
    size_t header_bytes = 64 * 1024;
    std::optional<uint64_t> body_bytes;  // none: the caller bounds the memory
    bool no_body = false;                // the response to a HEAD
  };

  ResponseReader(Connection& connection, Limits limits);

  // Errors of ReadHeader and Next: the connection's; kUnavailable if it closes before the end;
  // kInvalid for malformed HTTP or exceeded limits.
  Async<> ReadHeader();
  // The next piece of the body, "" after the last.
  Async<std::string> Next();
  // True if Next() would return "".
  bool ended() const { return parser_->is_done() && parser_->get().body().empty(); }

  const boost::beast::http::response_header<>& header() const { return parser_->get().base(); }
  // True once a byte of the response was received.
  bool begun() const { return begun_; }
  // After the last piece: whether the connection can carry another request.
  bool reusable() const;

 private:
  using Parser = boost::beast::http::response_parser<PieceBody>;

  void Restart();
  // Parses the buffer. kInvalid for malformed HTTP or exceeded limits.
  Result<void> Parse();
  // Reads more. kUnavailable if the peer closed, unless the close ends the response.
  Async<> ReadMore();

  Connection& connection_;
  Limits limits_;
  std::optional<Parser> parser_;
  bool begun_ = false;
};

}  // namespace kube
