#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "extras/kernel_sockets/space/host_sockets.h"
#include "extras/kernel_sockets/space/kernel_run.h"
#include "extras/kernel_sockets/space/kernel_socket_space.h"
#include "extras/kernel_sockets/space/open_broker.h"
#include "server/driver/native_driver.h"

namespace remotecl::testing {

// Kernels with sockets on the first device, without a daemon in between.
class NetworkTest : public ::testing::Test {
 protected:
  static server::Device& device() {
    static server::NativeDriver driver("0");
    return *driver.devices().front();
  }
  static Ref<server::KernelSocketSpace> make_network(server::SpaceShape shape = {},
                                                     server::KernelSocketSpace::Hooks hooks = {}) {
    if (!hooks.broker) hooks.broker = make_ref<OpenBroker>();
    if (hooks.threads.most == 0) hooks.threads = threads_of_tests();
    cl_int error = CL_SUCCESS;
    Ref<server::KernelSocketSpace> network = server::KernelSocketSpace::make(device(), shape, std::move(hooks), error);
    EXPECT_EQ(error, CL_SUCCESS);
    return network;
  }
  // The kernels of kernels.h.
  static KernelProgram& program();
  // A kernel that writes to numbers[0] where it listens.
  static std::uint16_t port_of(const KernelRun& run) {
    cl_int port = 0;
    EXPECT_TRUE(soon([&] { return (port = run.number_now(0)) != 0; }));
    EXPECT_GT(port, 0);
    return static_cast<std::uint16_t>(port);
  }
  // Whether the condition comes true within a minute, in which a driver has compiled the kernel.
  static bool soon(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
};

}  // namespace remotecl::testing
