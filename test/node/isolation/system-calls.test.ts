import { beforeAll, describe, expect, test } from "vitest";
import { twoNeighbours, users } from "./sandboxes.ts";

/**
 * What a sandbox must not do, the system call and its number on x86-64. All arguments are 0: if the call were let through,
 * it would succeed or complain about them, so the answer shows that they were not looked at.
 */
const refused: readonly (readonly [attempt: string, call: string, number: number])[] = [
  ["mount a file system", "mount", 165],
  ["take a mount away", "umount2", 166],
  ["exchange its root", "pivot_root", 155],
  ["open a new file system", "fsopen", 430],
  ["configure a new file system", "fsconfig", 431],
  ["mount what it opened", "fsmount", 432],
  ["reconfigure a mounted file system", "fspick", 433],
  ["copy a tree of mounts", "open_tree", 428],
  ["move a mount", "move_mount", 429],
  ["change the flags of a mount", "mount_setattr", 442],
  ["enter another namespace", "setns", 308],
  ["make a namespace by unsharing", "unshare", 272],
  ["add a key to a keyring", "add_key", 248],
  ["ask for a key", "request_key", 249],
  ["use keyrings", "keyctl", 250],
  ["load a program into the kernel", "bpf", 321],
  ["set up an io_uring", "io_uring_setup", 425],
  ["submit to an io_uring", "io_uring_enter", 426],
  ["set up asynchronous reads and writes", "io_setup", 206],
  ["submit asynchronous reads and writes", "io_submit", 209],
  ["measure the machine", "perf_event_open", 298],
  ["load a kernel module", "init_module", 175],
  ["load a kernel module from a file", "finit_module", 313],
  ["unload a kernel module", "delete_module", 176],
  ["load another kernel", "kexec_load", 246],
  ["load another kernel from a file", "kexec_file_load", 320],
  ["restart the machine", "reboot", 169],
  ["set the clock", "settimeofday", 164],
  ["set any clock", "clock_settime", 227],
  ["adjust the clock", "adjtimex", 159],
  ["use swap", "swapon", 167],
  ["stop swap", "swapoff", 168],
  ["write the accounts of processes", "acct", 163],
  ["read the kernel's messages", "syslog", 103],
  ["change quotas", "quotactl", 179],
  ["talk to input and output ports", "iopl", 172],
  ["open a range of ports", "ioperm", 173],
  ["open a file by its handle", "open_by_handle_at", 304],
  ["handle page faults of the kernel", "userfaultfd", 323],
  ["take a descriptor of another process", "pidfd_getfd", 438],
  ["compare processes", "kcmp", 312],
  ["rename its machine", "sethostname", 170],
  ["watch whole file systems", "fanotify_init", 300],
  ["move memory between nodes", "move_pages", 279],
];

const sockets: readonly (readonly [attempt: string, family: number, type: number])[] = [
  ["make raw IPv4 packets", 2, 3],
  ["make raw IPv6 packets", 10, 3],
  ["make raw frames", 17, 3],
  ["talk to the host of a virtual machine", 40, 1],
  ["use the kernel's ciphers", 38, 5],
  ["use express data path sockets", 44, 3],
  ["use Bluetooth", 31, 3],
  ["use RDS", 21, 5],
  ["use TIPC", 30, 1],
  ["use a CAN bus", 29, 3],
  ["use PPP over anything", 24, 1],
];

const namespaces: readonly (readonly [kind: string, flag: number])[] = [
  ["user", 0x1000_0000],
  ["mount", 0x0002_0000],
  ["pid", 0x2000_0000],
  ["network", 0x4000_0000],
  ["ipc", 0x0800_0000],
  ["uts", 0x0400_0000],
  ["cgroup", 0x0200_0000],
];

const attempts = `
import ctypes, errno, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    arguments = [ctypes.c_long(argument) for argument in (list(arguments) + [0] * 6)[:6]]
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *arguments)
    return "done" if result >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")
def cloned(flag):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(56), ctypes.c_long(flag | 17), *[ctypes.c_long(0)] * 4)
    if result == 0: os._exit(0)
    return "done" if result > 0 else errno.errorcode.get(ctypes.get_errno(), "?")
answers = {name: call(number) for name, number in json.loads(CALLS)}
answers |= {"socket %d %d" % (family, kind): call(41, family, kind, 1 if family == 2 else 58 if family == 10 else 0) for family, kind in json.loads(SOCKETS)}
answers |= {"clone " + kind: cloned(flag) for kind, flag in json.loads(NAMESPACES)}
answers["clone3"] = call(435)
print(json.dumps(answers))
`;

function scripted(): string {
  const given = {
    CALLS: refused.map(([, name, number]) => [name, number]),
    SOCKETS: sockets.map(([, family, type]) => [family, type]),
    NAMESPACES: namespaces,
  };
  const lines = Object.entries(given).map(([name, value]) => `${name} = ${JSON.stringify(JSON.stringify(value))}`);
  return `${lines.join("\n")}\n${attempts}`;
}

const box = twoNeighbours();
const denied = ["EPERM", "EACCES", "ENOSYS"];

describe.skipIf(process.arch !== "x64").each(users)("as %s", (user) => {
  let answers: Readonly<Record<string, string>> = {};
  beforeAll(async () => {
    answers = JSON.parse(await box.mine.python(scripted(), user)) as typeof answers;
  });

  test.each(refused)("a sandbox cannot %s", (_, call) => {
    expect(denied).toContain(answers[call]);
  });

  test.each(sockets)("a sandbox cannot %s", (_, family, type) => {
    expect(denied).toContain(answers[`socket ${family} ${type}`]);
  });

  test.each(namespaces)("a sandbox cannot clone into a new %s namespace", (kind) => {
    expect(denied).toContain(answers[`clone ${kind}`]);
  });

  test("a sandbox cannot hide the flags of a clone in memory", () => {
    expect(answers["clone3"]).toBe("ENOSYS");
  });

  test("a sandbox cannot slip past the filter with a 32-bit system call", async () => {
    // mov eax, 20 (getpid); int 0x80; ret
    const source = `
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))())`;
    const { code, stdout } = await box.mine.run(["python3", "-c", source], user);
    expect(stdout).not.toMatch(/^\d+$/m);
    expect(code).not.toBe(0);
  });

  test("a sandbox cannot slip past the filter with an x32 system call", async () => {
    const source = `
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
result = libc.syscall(ctypes.c_long(0x40000000 + 272), ctypes.c_long(0))
print("done" if result == 0 else errno.errorcode.get(ctypes.get_errno()))`;
    const { stdout } = await box.mine.run(["python3", "-c", source], user);
    expect(stdout.trim()).not.toBe("done");
  });

  test("every process of a sandbox is under a filter that it cannot take off", async () => {
    expect(await box.mine.says("grep -c ^Seccomp:.*2$ /proc/self/status", user)).toBe("1");
    const source = `
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.prctl(22, 0, 0, 0, 0))`;
    expect(await box.mine.python(source, user)).toBe("-1");
  });
});

test("the first process and the daemon are under the filter too", async () => {
  expect(await box.mine.says("for pid in 1 $(pgrep -P 1); do grep ^Seccomp: /proc/$pid/status; done | sort -u")).toBe("Seccomp:\t2");
});
