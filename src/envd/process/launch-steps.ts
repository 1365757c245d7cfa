/** The steps by which a runner becomes a command: its descriptors, its user, its folder, itself. Pure. */
import type { Account } from "#envd/accounts/accounts.ts";
import type { Step } from "#envd/steps/script.ts";

export interface Command {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly account: Account;
  readonly groups: readonly number[];
  readonly cwd: string;
  /** The caller chose the folder, so without it there is no command. */
  readonly needsCwd: boolean;
}

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** The runner's descriptors after `pipeSteps`: one pair for input, one for each output. */
export const pipeEnds = { stdin: { read: 4, write: 5 }, stdout: { read: 6, write: 7 }, stderr: { read: 8, write: 9 } } as const;
/** The terminal's master, given to the runner, and its other side, opened by it. */
const master = 4;
const slave = 5;
const firstFree = 4;

const closeOnExec = 0o2000000;
const readWrite = 2;
const noControllingTerminal = 0o400;
const currentFolder = -100;
const setDescriptorFlags = 2;
const unlockTerminal = 0x40045431;
const openOtherSide = 0x5441;
const setSize = 0x5414;
const becomeControlling = 0x540e;

/** Short of memory, the kernel takes the largest of those with the highest score: never the daemon first. */
const diesFirst: readonly Step[] = [
  { call: "openat", args: [currentFolder, "/proc/self/oom_score_adj", 1], mayFail: true },
  { call: "write", args: [firstFree, "900", 3], mayFail: true },
  { call: "close", args: [firstFree], mayFail: true },
];

/** Pipes, not the sockets that Node would make: programs open /dev/stdout, and a socket cannot be opened. */
export const pipeSteps: readonly Step[] = [
  ...diesFirst,
  ...[0, 1, 2].map((): Step => ({ call: "pipe2", args: [{ room: 8 }, closeOnExec] })),
];

export function onPipes(hasInput: boolean, { uid, gid }: Account): Step[] {
  const { stdin, stdout, stderr } = pipeEnds;
  return [
    ...(hasInput ? [{ call: "dup3", args: [stdin.read, 0, 0] } as const] : []),
    { call: "dup3", args: [stdout.write, 1, 0] },
    { call: "dup3", args: [stderr.write, 2, 0] },
    // So that the user can open them again by name, as /dev/stderr.
    ...[0, 1, 2].map((descriptor): Step => ({ call: "fchown", args: [descriptor, uid, gid], mayFail: true })),
  ];
}

export function onTerminal(size: TerminalSize, { uid, gid }: Account): Step[] {
  return [
    { call: "ioctl", args: [master, unlockTerminal, new Uint8Array(4)] },
    { call: "ioctl", args: [master, openOtherSide, readWrite | noControllingTerminal] },
    { call: "fchown", args: [slave, uid, gid], mayFail: true },
    resizeStep(slave, size),
    { call: "ioctl", args: [slave, becomeControlling, 0] },
    ...[0, 1, 2].map((descriptor): Step => ({ call: "dup3", args: [slave, descriptor, 0] })),
    { call: "close", args: [slave] },
    { call: "close", args: [master] },
    ...diesFirst,
  ];
}

export function resizeStep(descriptor: number, { cols, rows }: TerminalSize): Step {
  return { call: "ioctl", args: [descriptor, setSize, new Uint8Array(new Uint16Array([rows, cols, 0, 0]).buffer)] };
}

export interface Becoming {
  readonly steps: readonly Step[];
  /** The number of the step that enters the folder. */
  readonly cwdStep: number;
}

/** `ownUid`: the daemon's; one that is not root can only start what is its own. `first`: the steps that come before. */
export function becomeCommand(command: Command, ownUid: number, first: readonly Step[]): Becoming {
  const { account, groups, cwd, needsCwd } = command;
  const { uid, gid } = account;
  const identity: Step[] = [
    { call: "setgroups", args: [groups.length, new Uint8Array(new Uint32Array(groups).buffer)] },
    { call: "setresgid", args: [gid, gid, gid] },
    { call: "setresuid", args: [uid, uid, uid] },
  ];
  const setup: Step[] = [...first, ...(uid === ownUid && uid !== 0 ? [] : identity)];
  const enter: Step = { call: "chdir", args: [cwd], mayFail: !needsCwd };
  const steps: Step[] = [...setup, enter, { call: "fcntl", args: [3, setDescriptorFlags, 1] }, ...executions(command)];
  return { steps, cwdStep: setup.length };
}

/** One try for each folder of the search path; the last failure is the one that counts. */
function executions({ cmd, args, env }: Command): Step[] {
  const folders = cmd.includes("/") ? [""] : (env["PATH"] ?? "").split(":").map((folder) => (folder === "" ? "./" : `${folder}/`));
  const argv = [cmd, ...args];
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return folders.map((folder, index) => ({ call: "execve", args: [folder + cmd, argv, variables], mayFail: index < folders.length - 1 }));
}
