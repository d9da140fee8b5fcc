#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fakes/idle_bulk_transport.h"
#include "runtime/handshake/bulk_offload.h"
#include "runtime/handshake/bulk_upgrade.h"

namespace remotecl::testing {

// An offload without a device: both sides exchange their offer, and its transport moves nothing.
class FakeOffload final : public BulkOffload {
 public:
  struct Transport final : IdleBulkTransport {
    explicit Transport(std::unique_ptr<BulkTransport> beside) : stream(std::move(beside)) {}
    std::unique_ptr<BulkTransport> stream;
  };

  class Stream final : public OffloadedStream {
   public:
    std::unique_ptr<BulkTransport> beside(std::unique_ptr<BulkTransport> stream) override {
      return std::make_unique<Transport>(std::move(stream));
    }
  };

  class Acceptor final : public BulkOffloadAcceptor {
   public:
    explicit Acceptor(std::string host) : host_(std::move(host)) {}
    const std::string& host() const override { return host_; }
    void stop() override {}
    std::vector<Address> addresses(std::string*) override { return {{host_, 1}}; }
    std::shared_ptr<OffloadedStream> offer(const BulkEnd&, RdmaOffer& offer) override {
      offer.ticket = kTicket;
      return std::make_shared<Stream>();
    }

   private:
    const std::string host_;
  };

  static constexpr std::uint64_t kTicket = 77;

  bool has_device() const override { return true; }
  void prepare_for_containment() override {}
  std::unique_ptr<BulkOffloadAcceptor> accept_at(std::string host) override {
    return std::make_unique<Acceptor>(std::move(host));
  }
  std::shared_ptr<OffloadedStream> connect(const RdmaOffer& offer, const BulkEnd&) override {
    ticket = offer.ticket;
    return std::make_shared<Stream>();
  }

  std::uint64_t ticket = 0;  // of the last offer
};

}  // namespace remotecl::testing
