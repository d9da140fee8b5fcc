// A session that begins with links to other servers.
#include "seeds.h"

namespace remotecl::fuzz {

Script session_with_peers(std::uint32_t device) {
  Script script = with_buffers(device);
  constexpr std::uint64_t kLarge = kInlineDataMax + 64;
  script.add(CreateBuffer{4, 1, 100000})
      .add(AcceptPeer{2, 1, Secret{7}})
      .from_peer(PeerSignal{100, 0})
      .add(ExpectEvent{100, 2})
      .add(ExpectEvent{101, 2})
      .add(EnqueueReceive{1, 1, 1, 0, 0, 64, 1, 2, Ids{100}})
      .from_peer(PeerData{1, 0, data(64)})
      .add(EnqueueSend{1, 2, 1, 0, 0, 64, 2, 2, Ids{1}})
      .add(ForwardEvent{2, 2})
      .from_peer(PeerAck{1})
      .add(EnqueueSend{1, 3, 4, 0, 0, kLarge, 3, 2, {}})
      .from_peer(PullTransfer{3})
      .add(EnqueueReceive{1, 4, 4, 0, 0, kLarge, 4, 2, {}})
      .chunk(4, 60000, 0, kPeerBulk)
      .add(EnqueueSend{1, 5, 4, 0, 0, kLarge, 5, 2, {}, 0, 4, 4})
      .from_peer(PullTransfer{5})
      .chunk(4, 5600, 0, kPeerBulk)
      .add(EnqueueReceive{1, 6, 4, 0, 0, 4096, 6, 2, {}, 1})
      .from_peer(PeerSize{6, 512})
      .chunk(6, 512, 0, kPeerBulk)
      .add(EnqueueSend{1, 7, 4, 0, 0, kLarge, 7, 2, {}, 2})
      .from_peer(DropTransfer{7})
      .from_peer(PeerData{8, -5, {}})
      .from_peer(ConnectName{1, 4096, "name"})
      .add(EnqueueReceive{1, 8, 1, 0, 0, 64, 8, 2, {}})
      .add(ConnectPeer{3, 2, 1, 1, Secret{8}, {}})
      .from_peer(PipeEnd{1, 1})
      .add(ClosePeer{2, 1})
      .add(SignalEvent{101, 0, 2});
  return script;
}

}  // namespace remotecl::fuzz
