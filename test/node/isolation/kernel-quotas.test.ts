import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { type Sandbox, twoNeighbours, users } from "./sandboxes.ts";

const box = twoNeighbours();

/** What the kernel counts by users or for the whole machine. Each line of Python takes one more, and throws when there is no more. */
const kinds: Readonly<Record<string, string>> = {
  "inotify instances": "done(libc.inotify_init1(0))",
  // The kind that ordinary users may have: it reports identifiers of files.
  "fanotify groups": "done(libc.fanotify_init(0x200, 0))",
  "POSIX queues": "open_queue(b'/test-%d' % os.getpid())",
  "timers, and with them pending signals": "done(libc.timer_create(0, None, ctypes.byref(ctypes.c_void_p())))",
  "pages of locked memory": "done(libc.mlock(ctypes.c_void_p(page(count)), 4096))",
  terminals: "held.append(os.openpty())",
  "descriptors on their way through sockets": "pass_on()",
};

/** Takes of every kind until the kernel refuses or `most` are there, and says how many. A process that it prints the pid of keeps them. */
const take = (most: number): string => `
import array, ctypes, json, mmap, os, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
libc.mq_open.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
attributes = (ctypes.c_long * 8)(0, 8, 1024, 0)
memory = mmap.mmap(-1, 64 << 20)
base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
held = []
def done(result):
    if result < 0: raise OSError(ctypes.get_errno(), "refused")
def open_queue(name):
    done(libc.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, ctypes.byref(attributes)))
    # It is there until it is closed, and leaves no name behind.
    libc.mq_unlink(name)
def page(number):
    if (number + 1) * 4096 > 64 << 20: raise OSError(0, "no more pages to lock")
    return base + number * 4096
def pass_on():
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    held.append((a, b))
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [b.fileno()] * 200))])
said, say = os.pipe()
pid = os.fork()
if pid > 0:
    os.close(say)
    print(os.fdopen(said).readline().strip(), pid, flush=True)
    os._exit(0)
os.setsid()
took = {}
for kind, step in ${JSON.stringify(kinds)}.items():
    step, count = compile(step, kind, "exec"), 0
    try:
        while count < ${most}:
            exec(step)
            count += 1
    except OSError: pass
    took[kind] = count
os.write(say, json.dumps(took).encode() + b"\\n")
for descriptor in (0, 1, 2, say): os.close(descriptor)
signal.pause()
`;

interface Taken {
  readonly took: Readonly<Record<string, number>>;
  readonly pid: number;
}

function parse(said: string): Taken {
  const [, took = "", pid = ""] = /^(\{.*\}) (\d+)$/.exec(said.trim()) ?? [];
  return { took: JSON.parse(took) as Taken["took"], pid: Number(pid) };
}

/** Resolves when the process has gone: until then the kernel counts what it held, and a process with so much takes a while to end. */
async function giveUp(sandbox: Sandbox, { pid }: Pick<Taken, "pid">): Promise<void> {
  await sandbox.says(`kill -9 ${pid}; while kill -0 ${pid} 2>/dev/null; do sleep 0.01; done`);
}

describe.each(users)("while a sandbox keeps as much of the kernel as it gets, as %s,", (user) => {
  let taken: Taken = { took: {}, pid: 0 };
  beforeAll(async () => {
    taken = parse(await box.mine.python(take(200_000), user));
    return () => giveUp(box.mine, taken);
  });

  test.each(Object.keys(kinds))("it has %s", (kind) => {
    expect(taken.took[kind]).toBeGreaterThan(0);
  });

  test("its neighbour gets as much", async () => {
    const { took, pid } = parse(await box.other.python(take(200_000), user));
    await giveUp(box.other, { pid });
    // Not to the last one: a daemon has timers of its own.
    for (const [kind, count] of Object.entries(taken.took)) expect.soft(took[kind], kind).toBeGreaterThan(count * 0.9);
  });

  test.each(["root", "another user"])("%s of the machine gets some of everything", (whom) => {
    const as = whom === "root" ? {} : { uid: 65_534, gid: 65_534 };
    const { took, pid } = parse(execFileSync("python3", ["-c", take(8)], { encoding: "utf8", ...as }));
    process.kill(pid, "SIGKILL");
    expect(took).toEqual(Object.fromEntries(Object.keys(kinds).map((kind) => [kind, 8])));
  });
});

test("the machine has no number of open files that sandboxes with enough memory could reach", () => {
  expect(Number(readFileSync("/proc/sys/fs/file-max", "utf8"))).toBeGreaterThan(2 ** 60);
});

test("the machine has more numbers for processes than its sandboxes may have processes", () => {
  for (const name of ["pid_max", "threads-max"])
    expect(Number(readFileSync(`/proc/sys/kernel/${name}`, "utf8"))).toBeGreaterThanOrEqual(1024 * 2048);
});
