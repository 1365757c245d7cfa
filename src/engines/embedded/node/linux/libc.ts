/**
 * The system calls that Node lacks, typed and checked: each either does what it says or throws a SystemCallError.
 * Newer calls go by their number through `syscall`, which has been the same on all architectures since 2019, because
 * the C libraries of many machines do not export them by name yet.
 *
 * Siblings: mounts.ts (idmapped binds, overlays), mount-table.ts (what is mounted), namespaces.ts (new user and network
 * namespaces), processes.ts (identity, signals, exit codes), netlink-message.ts and netlink.ts (links, addresses,
 * routes), passed-descriptor.ts (a descriptor from a unix socket), terminal.ts (pipes and terminals), loop-device.ts,
 * run-command.ts (host commands), system-call-error.ts.
 *
 * All of it runs on the calling thread and is over in microseconds, but for what is marked as async.
 */
import koffi from "koffi";
import { SystemCallError } from "./system-call-error.ts";

const libc = koffi.load("libc.so.6");

type Argument = number | bigint | string | Buffer | null;
type Call = (...args: Argument[]) => number;

/** A function of the C library that answers -1 and sets errno. */
function fromLibc(definition: string): Call {
  return libc.func(definition) as Call;
}

/** A system call by its number, with the types of its arguments. */
function byNumber(number: number, types: readonly string[]): Call {
  const call = libc.func("syscall", "long", ["long", ...types]) as Call;
  return (...args) => call(number, ...args);
}

const calls = {
  open_tree: byNumber(428, ["int", "str", "uint"]),
  move_mount: byNumber(429, ["int", "str", "int", "str", "uint"]),
  mount_setattr: byNumber(442, ["int", "str", "uint", "void *", "size_t"]),
  mount: fromLibc("int mount(const char *source, const char *target, const char *type, ulong flags, const char *data)"),
  umount2: fromLibc("int umount2(const char *target, int flags)"),
  openat2: byNumber(437, ["int", "str", "void *", "size_t"]),
  mknod: fromLibc("int mknod(const char *path, uint mode, ulong device)"),
  flock: fromLibc("int flock(int fd, int operation)"),
  lsetxattr: fromLibc("int lsetxattr(const char *path, const char *name, const void *value, size_t size, int flags)"),
  lgetxattr: fromLibc("int64_t lgetxattr(const char *path, const char *name, void *value, size_t size)"),
  setns: fromLibc("int setns(int fd, int kind)"),
  prctl: fromLibc("int prctl(int option, ulong a, ulong b, ulong c, ulong d)"),
  pidfd_open: byNumber(434, ["int", "uint"]),
  pidfd_send_signal: byNumber(424, ["int", "int", "void *", "uint"]),
  kill: fromLibc("int kill(int pid, int signal)"),
  waitpid: fromLibc("int waitpid(int pid, void *status, int options)"),
  ioctl: fromLibc("int ioctl(int fd, ulong request, void *argument)"),
  ioctl_number: fromLibc("int ioctl(int fd, ulong request, ulong argument)"),
  pipe2: fromLibc("int pipe2(void *fds, int flags)"),
  fcntl: fromLibc("int fcntl(int fd, int command, int argument)"),
  socket: fromLibc("int socket(int domain, int type, int protocol)"),
  bind: fromLibc("int bind(int fd, const void *address, uint size)"),
  listen: fromLibc("int listen(int fd, int backlog)"),
  accept4: fromLibc("int accept4(int fd, void *address, void *size, int flags)"),
  recvmsg: fromLibc("int64_t recvmsg(int fd, void *header, int flags)"),
  recv: fromLibc("int64_t recv(int fd, void *buffer, size_t size, int flags)"),
  quotactl_fd: byNumber(443, ["int", "uint", "uint", "void *"]),
} satisfies Record<string, Call>;

/** Makes a system call; `what` says in words on what, for the error. */
export function systemCall(name: keyof typeof calls, args: readonly Argument[], what: string): number {
  const result = calls[name](...args);
  if (result < 0) throw new SystemCallError(name, koffi.errno(), what);
  return result;
}

/** Where a buffer lies in memory: for structures that hold pointers. The caller keeps the buffer alive until the call is over. */
export function addressOf(buffer: Buffer): bigint {
  return koffi.address(buffer);
}

const sendAsync = libc.func("int64_t send(int fd, const void *buffer, size_t size, int flags)");

/** Sends on a thread of its own: a netlink request is carried out within this call and may have to wait for the kernel's locks. */
export function sendOffThread(fd: number, message: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    sendAsync.async(fd, message, message.length, 0, (error: Error | null, sent: number) =>
      error === null ? resolve(sent) : reject(error),
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
    whenReadable();
  });
  return handle;
}
