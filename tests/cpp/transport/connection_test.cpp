#include "transport/connection_suite.h"

#include "transport/connection_kinds.h"

namespace remotecl {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Kinds, ConnectionTest, kinds::All);
INSTANTIATE_TYPED_TEST_SUITE_P(OtherCarriers, ConnectionTest, kinds::OtherCarriers);

TEST(TcpListener, CloseEndsAccept) {
  tcp::Listener listener({"127.0.0.1", 0});
  EXPECT_NE(listener.address().port, 0);
  std::thread closer([&] { listener.close(); });
  EXPECT_EQ(listener.accept(), nullptr);
  closer.join();
}

TEST(TcpListener, PortInUseNamesAddressAndRemedy) {
  tcp::Listener first({"127.0.0.1", 0});
  try {
    tcp::Listener second(first.address());
    FAIL() << "two listeners on one port";
  } catch (const ConnectionError& error) {
    EXPECT_NE(std::string(error.what()).find(first.address().text()), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("choose another port"), std::string::npos) << error.what();
  }
}

TEST(TcpConnect, RefusedConnectionNamesAddressAndRemedy) {
  Address address;
  { address = tcp::Listener({"127.0.0.1", 0}).address(); }  // nobody listens there any more
  try {
    tcp::connect(address, 5s);
    FAIL();
  } catch (const ConnectionError& error) {
    EXPECT_NE(std::string(error.what()).find(address.text()), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("remotecl-server"), std::string::npos) << error.what();
  }
}

TEST(TcpConnect, NameThatDoesNotResolveIsNamed) {
  try {
    tcp::connect({"no-such-host.invalid", 1}, 5s);
    FAIL();
  } catch (const ConnectionError& error) {
    EXPECT_NE(std::string(error.what()).find("no-such-host.invalid"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace remotecl
