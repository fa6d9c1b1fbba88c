// SPDX-License-Identifier: Apache-2.0
// TLS of a ByteStream against a peer that splits its records in any way, or ends in the middle of
// one. The peer's TLS runs in memory; the test decides which bytes it sends.
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <optional>
#include <random>
#include <string>

#include "kube/base/clock.h"
#include "kube/crypto/certificates.h"
#include "kube/http/byte_stream.h"
#include "kube/testing/run.h"

namespace kube {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;
using ErrorCode = ByteStream::ErrorCode;

// The largest content of a record.
constexpr size_t kRecord = 16 * 1024;

// Bytes with a pattern, so that a lost, repeated or moved piece shows.
std::string Text(size_t size) {
  std::string text(size, '\0');
  for (size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + i / 251);
  return text;
}

class ByteStreamTlsTest : public testing::Test {
 protected:
  ByteStreamTlsTest() {
    tcp::acceptor acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    peer_.connect(acceptor.local_endpoint());
    peer_.set_option(tcp::no_delay(true));
    peer_.non_blocking(true);
    stream_.emplace(acceptor.accept());

    KeyPair ca = *NewCertificateAuthority("test", 1h, RealClock());
    KeyPair pair = *NewServingCertificate(ca, {"127.0.0.1"}, 1h, RealClock());
    server_.use_certificate_chain(asio::buffer(pair.certificate_pem));
    server_.use_private_key(asio::buffer(pair.private_key_pem), asio::ssl::context::pem);
    // A ticket after the handshake would be a record more.
    SSL_CTX_set_options(server_.native_handle(), SSL_OP_NO_TICKET);
    tls_.reset(SSL_new(server_.native_handle()));
    SSL_set_bio(tls_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_accept_state(tls_.get());
    stream_->StartTls(client_.native_handle());
  }

  // The handshake, in pieces of `piece` bytes.
  void Shake(size_t piece = kRecord) {
    std::optional<ErrorCode> shaken;
    asio::co_spawn(io_, stream_->Handshake(ByteStream::Side::kClient),
                   [&](std::exception_ptr, ErrorCode ec) { shaken = ec; });
    TimePoint deadline = RealClock().Now() + kStuckAfter;
    while (!shaken || !SSL_is_init_finished(tls_.get())) {
      ASSERT_LT(RealClock().Now(), deadline);
      io_.restart();
      io_.poll();
      char buffer[4096];
      ErrorCode ec;
      size_t size = peer_.read_some(asio::buffer(buffer), ec);
      if (!ec) BIO_write(SSL_get_rbio(tls_.get()), buffer, static_cast<int>(size));
      (void)SSL_do_handshake(tls_.get());
      SendPieces(Taken(), piece);
    }
    ASSERT_FALSE(*shaken) << shaken->message();
  }

  // The records of `text`; of at most kRecord each.
  std::string Encrypt(std::string_view text) {
    EXPECT_EQ(SSL_write(tls_.get(), text.data(), static_cast<int>(text.size())),
              static_cast<int>(text.size()));
    return Taken();
  }
  std::string CloseNotify() {
    (void)SSL_shutdown(tls_.get());
    return Taken();
  }

  void Send(std::string_view bytes) { asio::write(peer_, asio::buffer(bytes)); }
  // Sends pieces, and lets the stream see each of them.
  void SendPieces(std::string_view bytes, size_t piece) {
    while (!bytes.empty()) {
      Send(bytes.substr(0, piece));
      bytes.remove_prefix(std::min(piece, bytes.size()));
      io_.restart();
      io_.poll();
    }
  }
  // Ends the connection with a reset.
  void Reset() {
    peer_.set_option(asio::socket_base::linger(true, 0));
    peer_.close();
  }

  // Starts to read into buffers of `size` bytes, until an error.
  void StartReading(size_t size) {
    asio::co_spawn(io_, ReadAll(*stream_, size, received_),
                   [this](std::exception_ptr, ErrorCode ec) { ended_ = ec; });
  }
  // The error at the end.
  ErrorCode AwaitEnd() {
    EXPECT_TRUE(RunUntil(io_, [&] { return ended_.has_value(); })) << "the end was not noticed";
    return ended_.value_or(ErrorCode());
  }
  bool AwaitBytes(size_t size) {
    return RunUntil(io_, [&] { return received_.size() >= size || ended_; });
  }

  asio::io_context io_;
  tcp::socket peer_{io_};
  std::optional<ByteStream> stream_;
  std::string received_;
  std::optional<ErrorCode> ended_;

 private:
  static asio::awaitable<ErrorCode> ReadAll(ByteStream& stream, size_t size, std::string& into) {
    std::string buffer(size, '\0');
    while (true) {
      auto read = co_await stream.ReadSome(asio::buffer(buffer));
      into.append(buffer, 0, read.second);
      if (read.first) co_return read.first;
    }
  }
  // What the peer's TLS has to send.
  std::string Taken() {
    std::string bytes(BIO_ctrl_pending(SSL_get_wbio(tls_.get())), '\0');
    if (!bytes.empty())
      BIO_read(SSL_get_wbio(tls_.get()), bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }

  asio::ssl::context server_{asio::ssl::context::tls_server};
  asio::ssl::context client_{asio::ssl::context::tls_client};
  bssl::UniquePtr<SSL> tls_;
};

TEST_F(ByteStreamTlsTest, APeerMaySendOneByteAtATime) {
  Shake(1);
  std::string text = Text(3000);
  StartReading(kRecord);
  SendPieces(Encrypt(text), 1);
  SendPieces(CloseNotify(), 1);
  EXPECT_EQ(AwaitEnd(), asio::error::eof);
  EXPECT_EQ(received_, text);
}

TEST_F(ByteStreamTlsTest, ManyRecordsInOneSegment) {
  Shake();
  std::string text;
  std::string records;
  for (size_t size : {1, 700, 0, 16 * 1024, 3, 5000}) {
    std::string part = Text(size);
    if (size > 0) records += Encrypt(part);
    text += part;
  }
  Send(records + CloseNotify());
  peer_.close();
  StartReading(kRecord);
  EXPECT_EQ(AwaitEnd(), asio::error::eof);
  EXPECT_EQ(received_, text);
}

TEST_F(ByteStreamTlsTest, ABufferOfOneByteLosesNothing) {
  Shake();
  std::string text = Text(20'000);
  std::string records = Encrypt(text.substr(0, kRecord));
  records += Encrypt(text.substr(kRecord));
  Send(records);
  StartReading(1);
  ASSERT_TRUE(AwaitBytes(text.size()));
  EXPECT_EQ(received_, text);
  EXPECT_TRUE(stream_->Quiet());
}

// A read that found nothing more waits for the socket: a close that came with the last bytes must
// end this wait.
TEST_F(ByteStreamTlsTest, ACloseTogetherWithTheLastBytesIsNoticed) {
  Shake();
  std::string text = Text(2000);
  Send(Encrypt(text));
  peer_.close();
  StartReading(kRecord);
  EXPECT_EQ(AwaitEnd(), asio::ssl::error::stream_truncated);
  EXPECT_EQ(received_, text);
}

TEST_F(ByteStreamTlsTest, ACloseDuringTheWaitIsNoticed) {
  Shake();
  StartReading(kRecord);
  std::string text = Text(2000);
  SendPieces(Encrypt(text), kRecord);
  ASSERT_TRUE(AwaitBytes(text.size()));
  Drain(io_);
  peer_.close();
  EXPECT_EQ(AwaitEnd(), asio::ssl::error::stream_truncated);
}

TEST_F(ByteStreamTlsTest, ACloseWithinARecordIsTruncation) {
  Shake();
  std::string record = Encrypt(Text(kRecord));
  Send(record.substr(0, 9000));
  peer_.close();
  StartReading(kRecord);
  EXPECT_EQ(AwaitEnd(), asio::ssl::error::stream_truncated);
  EXPECT_EQ(received_, "");
}

TEST_F(ByteStreamTlsTest, AResetTogetherWithTheLastBytesIsNoticed) {
  Shake();
  std::string record = Encrypt(Text(2000));
  Send(record + record.substr(0, 10));
  Reset();
  StartReading(kRecord);
  EXPECT_TRUE(AwaitEnd());
}

TEST_F(ByteStreamTlsTest, AChangedRecordIsRefused) {
  Shake();
  std::string first = Encrypt(Text(100));
  std::string second = Encrypt(Text(100));
  second[50] ^= 1;
  Send(first + second);
  StartReading(kRecord);
  EXPECT_EQ(AwaitEnd().category(), asio::error::get_ssl_category());
  EXPECT_EQ(received_, Text(100));
}

TEST_F(ByteStreamTlsTest, AHeaderThatIsNotTlsIsRefused) {
  Shake();
  Send("HTTP/1.1 200 OK\r\n\r\n");
  StartReading(kRecord);
  EXPECT_EQ(AwaitEnd().category(), asio::error::get_ssl_category());
}

TEST_F(ByteStreamTlsTest, BytesBelowTlsAreNotQuiet) {
  Shake();
  EXPECT_TRUE(stream_->Quiet());
  std::string record = Encrypt("a");
  Send(record + Encrypt("b"));
  std::string buffer(10, '\0');
  std::optional<std::pair<ErrorCode, size_t>> read;
  asio::co_spawn(io_, stream_->ReadSome(asio::buffer(buffer)),
                 [&](std::exception_ptr, std::pair<ErrorCode, size_t> result) { read = result; });
  ASSERT_TRUE(RunUntil(io_, [&] { return read.has_value(); }));
  EXPECT_EQ(buffer.substr(0, read->second), "a");
  EXPECT_FALSE(stream_->Quiet()) << "the second record was received with the first";
}

TEST_F(ByteStreamTlsTest, AnySegmentsAndAnyBuffers) {
  Shake();
  std::minstd_rand random(20261123);
  auto up_to = [&](size_t largest) { return 1 + random() % largest; };
  std::string text;
  StartReading(up_to(kRecord));
  for (int i = 0; i < 300; ++i) {
    std::string part = Text(up_to(i % 3 == 0 ? kRecord : 200));
    text += part;
    SendPieces(Encrypt(part), up_to(i % 2 == 0 ? 2 * kRecord : 300));
  }
  SendPieces(CloseNotify(), kRecord);
  EXPECT_EQ(AwaitEnd(), asio::error::eof);
  EXPECT_EQ(received_, text);
}

}  // namespace
}  // namespace kube
