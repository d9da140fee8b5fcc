"""A client that means harm: its kernels make system calls from within the process that runs them, on a CPU device."""

import json
from dataclasses import dataclass, field

from client import Client

# System calls, one after the other. A word from TEXT on is the address of a byte in `bytes`, from RESULT on what an
# earlier call has given. FORK makes a child that does nothing but stay.
TEXT, RESULT, FORK = 1 << 60, 1 << 61, -1

PROGRAM = """
import json, sys
import numpy as np
import pyopencl as cl
import remotecl

SOURCE = '''
#ifdef __x86_64__
long call(long n, long a, long b, long c, long d, long e, long f) {
  long result;
  __asm__ volatile("movq %5, %%r10; movq %6, %%r8; movq %7, %%r9; syscall"
                   : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "m"(d), "m"(e), "m"(f)
                   : "rcx", "r8", "r9", "r10", "r11", "memory");
  return result;
}
#endif
long meant(long word, global char* bytes, global long* results) {
  if (word >= (1L << 61)) return results[word - (1L << 61)];
  return word >= (1L << 60) ? (long)(bytes + (word - (1L << 60))) : word;
}
kernel void intrude(global long* words, global char* bytes, global long* results, int count) {
  for (int i = 0; i < count; ++i) {
    global long* const w = words + 7 * i;
    if (w[0] == -1) {
      const long child = call(57, 0, 0, 0, 0, 0, 0);
      while (child == 0) call(7, 0, 0, -1, 0, 0, 0);
      results[i] = child;
    } else {
      results[i] = call(w[0], meant(w[1], bytes, results), meant(w[2], bytes, results), meant(w[3], bytes, results),
                        meant(w[4], bytes, results), meant(w[5], bytes, results), meant(w[6], bytes, results));
    }
  }
}'''
context = remotecl.connect(sys.argv[1]).context()
queue = cl.CommandQueue(context)
kernel = cl.Kernel(cl.Program(context, SOURCE).build(), "intrude")
print("there", flush=True)
for line in sys.stdin:
    order = json.loads(line)
    words = np.array(order["words"], np.int64)
    memory = np.frombuffer(bytes.fromhex(order["memory"]), np.uint8)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=host) for host in (words, memory)]
    results = np.zeros(len(words), np.int64)
    answer = cl.Buffer(context, flags, hostbuf=results)
    kernel(queue, (1,), None, *buffers, answer, np.int32(len(words)))
    found = np.empty_like(memory)
    cl.enqueue_copy(queue, results, answer)
    cl.enqueue_copy(queue, found, buffers[1])
    print(json.dumps({"results": results.tolist(), "memory": found.tobytes().hex()}), flush=True)
"""

SIZE = 8192


@dataclass
class Calls:
    """System calls to make together, and the memory that they use."""

    words: list[list[int]] = field(default_factory=list)
    memory: bytearray = field(default_factory=bytearray)

    def text(self, value: str | bytes) -> int:
        at = len(self.memory)
        self.memory += (value.encode() if isinstance(value, str) else value) + b"\0"
        return TEXT + at

    def add(self, number: int, *arguments: int | str) -> int:
        """Which of the results it has, as a later argument."""
        words = [self.text(each) if isinstance(each, str) else each for each in arguments]
        self.words.append([number, *words, *([0] * (6 - len(words)))])
        return RESULT + len(self.words) - 1


class Intruder(Client):
    """Until the end of the block."""

    def __init__(self, name: str, **environment: str) -> None:
        super().__init__(PROGRAM, name, **environment)

    def make(self, calls: Calls) -> list[int]:
        """What the system said to each: a negative number is an error."""
        order = {"words": calls.words, "memory": (bytes(calls.memory) or b"\0").hex()}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        answer = json.loads(line)
        self.memory = bytes.fromhex(answer["memory"])
        return answer["results"]

    def call(self, number: int, *arguments: int | str) -> int:
        """One system call."""
        calls = Calls()
        calls.add(number, *arguments)
        return self.make(calls)[0]

    def read(self, path: str) -> bytes | int:
        """What a file begins with, or the error."""
        calls = Calls()
        space = calls.text(b"\0" * SIZE)
        calls.add(0, calls.add(2, path, 0), space, SIZE)
        opened, size = self.make(calls)
        return self.memory[:size] if opened >= 0 and size >= 0 else (opened if opened < 0 else size)

    def list(self, path: str) -> bytes | int:
        """What the system tells of a folder, or the error."""
        calls = Calls()
        space = calls.text(b"\0" * SIZE)
        calls.add(217, calls.add(2, path, 0o200000), space, SIZE)
        opened, size = self.make(calls)
        return self.memory[:size] if opened >= 0 and size >= 0 else (opened if opened < 0 else size)
