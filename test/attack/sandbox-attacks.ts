/** What root inside one sandbox can do. Each script ends by itself, and the sandbox is ended after it. */
import { type Attack, type Attacker, untilAborted } from "./scene.ts";

export async function withSandbox(attacker: Attacker, use: (id: string) => Promise<string>): Promise<string> {
  const id = await attacker.sandbox();
  try {
    return await use(id);
  } finally {
    await attacker.client.sandboxes.end(id);
  }
}

/** Runs a Python script in a sandbox of the attacker until it ends or the time is over. */
function inside(name: string, script: string): Attack {
  return {
    name,
    run: (attacker, signal) =>
      withSandbox(attacker, async (id) => {
        try {
          const { stdout, stderr } = await attacker.client.sandboxes.exec(id, { command: ["python3", "-c", script] }, signal);
          await untilAborted(signal);
          return stdout.trim().split("\n").at(-1) || stderr.trim().slice(-100) || "said nothing";
        } catch (error) {
          return signal.aborted ? "ran to the end of its time" : `ended: ${(error as Error).message.slice(0, 100)}`;
        }
      }),
  };
}

const forkBomb = inside(
  "a fork bomb",
  `
import os, time
end = time.time() + 60
while time.time() < end:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)
`,
);

const kernelQuotas = inside(
  "all inotify instances and timers",
  `
import ctypes, time
libc = ctypes.CDLL(None, use_errno=True)
taken = {"inotify": 0, "timer": 0}
while taken["inotify"] < 50000 and libc.inotify_init1(0) >= 0:
    taken["inotify"] += 1
while taken["timer"] < 20000 and libc.timerfd_create(1, 0) >= 0:
    taken["timer"] += 1
print(taken, flush=True)
time.sleep(5)
`,
);

const socketBuffers = inside(
  "memory in socket buffers",
  `
import socket, time
server = socket.create_server(("127.0.0.1", 0), backlog=4096)
pairs, queued = [], 0
try:
    for _ in range(2000):
        out = socket.create_connection(server.getsockname())
        into, _address = server.accept()
        out.setblocking(False)
        pairs.append((out, into))
        try:
            while True:
                queued += out.send(b"x" * 65536)
        except BlockingIOError:
            pass
except OSError as error:
    print(error)
print(f"{queued >> 20} MiB queued on {len(pairs)} connections", flush=True)
time.sleep(5)
`,
);

const connections = inside(
  "the table of connections",
  `
import socket, time
end, sent = time.time() + 15, 0
ends = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(64)]
while time.time() < end:
    for one in ends:
        try:
            one.sendto(b"x", ("192.0.2.%d" % (sent % 250 + 1), sent % 60000 + 1024))
        except OSError:
            pass
        sent += 1
    time.sleep(0.001)
print(f"{sent} packets to as many addresses and ports")
`,
);

const memory = inside(
  "all memory, again and again",
  `
import os, time
end, killed = time.time() + 15, 0
while time.time() < end:
    child = os.fork()
    if child == 0:
        hog = bytearray(2 << 30)
        os._exit(0)
    os.waitpid(child, 0)
    killed += 1
print(f"{killed} processes killed")
`,
);

const grow = "import os; os.ftruncate(os.open('/proc/1/fd/1', os.O_WRONLY), 1 << 40); print('a log of 1 TiB')";

const fileLocks = inside(
  "locks of files without end",
  `
import fcntl, os, time
end, taken = time.time() + 15, 0
while time.time() < end and taken < 5_000_000:
    file = os.open("/tmp/locked-%d" % (taken // 1000), os.O_RDWR | os.O_CREAT)
    for at in range(0, 2000, 2): fcntl.lockf(file, fcntl.LOCK_EX, 1, at)
    taken += 1000
print(f"{taken} locks")
`,
);

/** A log that claims to be endless, read by clients that then go away. */
const sparseLog: Attack = {
  name: "a sparse log, followed",
  run: (attacker, signal) =>
    withSandbox(attacker, async (id) => {
      const { stdout, stderr } = await attacker.client.sandboxes.exec(id, { command: ["python3", "-c", grow] });
      for (let round = 0; round < 20 && !signal.aborted; round++) await followFor(attacker, id, 500);
      await untilAborted(signal);
      return stdout.trim() || stderr.trim().slice(-100);
    }),
};

async function followFor(attacker: Attacker, id: string, ms: number): Promise<void> {
  try {
    for await (const line of attacker.client.sandboxes.followLogs(id, {}, AbortSignal.timeout(ms))) void line;
  } catch {
    // The client has gone away: that is the attack.
  }
}

export const sandboxAttacks: readonly Attack[] = [forkBomb, kernelQuotas, socketBuffers, connections, memory, fileLocks, sparseLog];
