#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/base/bytes.h"
#include "runtime/client/program/program.h"
#include "runtime/protocol/sealed_content.h"

namespace remotecl {

// The binary of one device (CL_PROGRAM_BINARIES): a native binary, preceded by what was known of the kernels' arguments
// when it was built. Native binaries do not say which arguments are constant. Without that, everything that a
// kernel of such a program reads would count as written, and would lose its copies elsewhere.
//
// | offset | |
// |---|---|
// | 0 | magic, 8 bytes |
// | 8 | version of this format, u32 |
// | 12 | SHA-256 of all that follows |
// | 44 | the kernels of which something is known, encoded like protocol messages |
// | | the native binary, u32 length and bytes |
//
// The digest ties the two together, so that accidents are detected. It does not prove who made the container,
// and need not: the author of a binary decides what runs, and could just as well write to what a kernel calls
// constant.
struct BinaryContainer {
  std::vector<std::byte> native;
  std::map<std::string, KernelInfo> kernels;  // names, kinds and qualifiers of arguments
};

// Deterministic. Returns just the native binary if nothing is known beyond what it says itself.
std::vector<std::byte> pack_binary(Bytes native, const std::map<std::string, KernelInfo>& kernels);
// The binary may come from anywhere; one that does not begin with the magic is native. Throws BinaryError.
BinaryContainer unpack_binary(Bytes binary);

// Adds what the container says to what a server found out about a kernel, unless the two differ in the kinds
// of arguments. Applications are still told only what the native driver says, and nothing that it did not say of the
// program that the binary was taken from.
void complete(KernelInfo& found, const KernelInfo& contained);

}  // namespace remotecl
