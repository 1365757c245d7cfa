/**
 * The system calls of Linux that the node needs and Node lacks, checked: each either does what it says or throws.
 * Newer calls go by their number through `syscall`, which has been the same on all architectures since 2019, because
 * the C libraries of many machines do not export them by name yet.
 *
 * Siblings: mounts.ts (idmapped binds, overlays), mount-table.ts (what is mounted), namespaces.ts (new user and network
 * namespaces), processes.ts (identity, signals, exit codes), netlink-message.ts and netlink.ts (links, addresses,
 * routes), connections.ts (what the firewall remembers), passed-descriptor.ts (a descriptor from a unix socket), terminal.ts (pipes and terminals), loop-device.ts,
 * run-command.ts (host commands), process-limits.ts, open-below.ts and inside-root.ts (files of a root that a sandbox or an image filled), file-lock.ts,
 * read-if-present.ts.
 *
 * All of it runs on the calling thread and is over in microseconds, but for what is marked as async.
 */
import koffi from "koffi";
import { type Argument, cString, type SystemCall, systemCall as bound } from "#lib/native/libc.ts";

/** A system call by its number, with the types of its arguments. */
function byNumber(name: string, number: number, types: string): SystemCall {
  const call = bound(`int64_t syscall(int64_t number, ${types})`, name);
  return (about, ...args) => call(about, number, ...args);
}

const path = "const uint8_t *";

const calls = {
  open_tree: byNumber("open_tree", 428, `int, ${path}, uint`),
  move_mount: byNumber("move_mount", 429, `int, ${path}, int, ${path}, uint`),
  mount_setattr: byNumber("mount_setattr", 442, `int, ${path}, uint, void *, size_t`),
  mount: bound(`int mount(${path}source, ${path}target, ${path}type, ulong flags, ${path}data)`),
  umount2: bound(`int umount2(${path}target, int flags)`),
  openat2: byNumber("openat2", 437, `int, ${path}, void *, size_t`),
  setns: bound("int setns(int fd, int kind)"),
  unshare: bound("int unshare(int kinds)"),
  mkdirat: bound(`int mkdirat(int folder, ${path}name, uint mode)`),
  fchownat: bound(`int fchownat(int folder, ${path}name, uint user, uint group, int flags)`),
  linkat: bound(`int linkat(int from, ${path}name, int to, ${path}other, int flags)`),
  // Older than the common numbers.
  kcmp: byNumber("kcmp", process.arch === "arm64" ? 272 : 312, "int, int, int, ulong, ulong"),
  prctl: bound("int prctl(int option, ulong a, ulong b, ulong c, ulong d)"),
  prlimit: bound("int prlimit(int pid, int resource, const void *limit, void *former)"),
  pidfd_open: byNumber("pidfd_open", 434, "int, uint"),
  pidfd_send_signal: byNumber("pidfd_send_signal", 424, "int, int, void *, uint"),
  kill: bound("int kill(int pid, int signal)"),
  waitpid: bound("int waitpid(int pid, void *status, int options)"),
  ioctl: bound("int ioctl(int fd, ulong request, void *argument)"),
  pipe2: bound("int pipe2(void *fds, int flags)"),
  socket: bound("int socket(int domain, int type, int protocol)"),
  bind: bound("int bind(int fd, const void *address, uint size)"),
  listen: bound("int listen(int fd, int backlog)"),
  accept4: bound("int accept4(int fd, void *address, void *size, int flags)"),
  recvmsg: bound("int64_t recvmsg(int fd, void *header, int flags)"),
  recv: bound("int64_t recv(int fd, void *buffer, size_t size, int flags)"),
} satisfies Record<string, SystemCall>;

/** Makes a system call; `what` says in words on what, for the error. */
export function systemCall(name: keyof typeof calls, args: readonly (Argument | string)[], what: string): number {
  return calls[name](what, ...args.map((arg) => (typeof arg === "string" ? cString(arg) : arg)));
}

/** Where a buffer lies in memory: for structures that hold pointers. The caller keeps the buffer alive until the call is over. */
export function addressOf(buffer: Buffer): bigint {
  return koffi.address(buffer);
}

const libc = koffi.load(null);
const sendAsync = libc.func("int64_t send(int fd, const void *buffer, size_t size, int flags)");

/** Sends on a thread of its own: a netlink request is carried out within this call and may have to wait for the kernel's locks. */
export function sendOffThread(fd: number, message: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    sendAsync.async(fd, message, message.length, 0, (error: Error | null, sent: number) =>
      error === null ? resolve(sent) : reject(error),
    );
  });
}

const receiveAsync = libc.func("int64_t recv(int fd, void *buffer, size_t size, int flags)");

/** Receives on a thread of its own: of a long list the kernel collects the next part within this call. */
export function receiveOffThread(fd: number, buffer: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    receiveAsync.async(fd, buffer, buffer.length, 0, (error: Error | null, size: number) =>
      error === null ? resolve(size) : reject(error),
    );
  });
}

const umountAsync = libc.func("int umount2(const char *target, int flags)");

/** Unmounts on a thread of its own; false if the kernel refuses (why, only a call on this thread could tell). */
export function unmountOffThread(target: string, flags: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    umountAsync.async(target, flags, (error: Error | null, result: number) => (error === null ? resolve(result === 0) : reject(error)));
  });
}

/** Calls `whenReadable` as soon as there is something to read at `fd`, once. */
export function onReadable(fd: number, whenReadable: () => void): { close(): void } {
  const handle = koffi.node.poll(fd, { readable: true }, () => {
    handle.close();
    // Called from here, promises that it resolves would wait for the next event of Node's own.
    setImmediate(whenReadable);
  });
  return handle;
}
