/** The steps of a build: what a client sends, and what it means. Pure. */
import { BuildFailure } from "./build-failure.ts";

/** A step as it stands on the wire. `''` among the arguments means "not set". */
export interface WireStep {
  readonly type: string;
  readonly args?: readonly string[] | undefined;
  /** Of a COPY: names the archive that was sent for it. */
  readonly filesHash?: string | undefined;
  /** Run it although its layer is there. */
  readonly force?: boolean | undefined;
}

export type BuildStep = CopyStep | RunStep | WorkdirStep | UserStep | EnvStep;

export interface CopyStep {
  readonly kind: "copy";
  readonly source: string;
  readonly target: string;
  /** `user` or `user:group`. */
  readonly owner?: string;
  /** Octal. */
  readonly mode?: string;
  readonly filesHash: string;
}

export interface RunStep {
  readonly kind: "run";
  readonly command: string;
  /** For this step alone. */
  readonly user?: string;
}

export interface WorkdirStep {
  readonly kind: "workdir";
  readonly path: string;
}

export interface UserStep {
  readonly kind: "user";
  readonly name: string;
}

export interface EnvStep {
  readonly kind: "env";
  readonly pairs: readonly (readonly [name: string, value: string])[];
}

export const stepTypes = ["COPY", "RUN", "WORKDIR", "USER", "ENV"] as const;

export const filesHashPattern = /^[0-9a-f]{64}$/;
/** What a Linux account may be called, or a number. */
const accountPattern = /^(?:[a-z_][a-z0-9_.-]{0,30}\$?|\d{1,10})$/i;
const variablePattern = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** `number`: from 1 on. Throws BuildFailure. */
export function readStep({ type, args = [], filesHash }: WireStep, number: number): BuildStep {
  const fail = (why: string): never => {
    throw new BuildFailure(number, `step ${number} (${type}): ${why}`);
  };
  const zero = args.find((arg) => arg.includes("\0"));
  if (zero !== undefined) fail("an argument has a zero byte in it");
  switch (type) {
    case "COPY":
      return copyStep(args, filesHash, fail);
    case "RUN":
      return runStep(args, fail);
    case "WORKDIR":
      if (args.length !== 1 || args[0] === undefined || args[0] === "") return fail("takes one path");
      return { kind: "workdir", path: args[0] };
    case "USER":
      if (args.length !== 1 || args[0] === undefined || args[0] === "") return fail("takes one name");
      return { kind: "user", name: account(args[0], fail) };
    case "ENV":
      return envStep(args, fail);
    default:
      return fail(`is no type of step; there are ${stepTypes.join(", ")}`);
  }
}

type Fail = (why: string) => never;

function copyStep(args: readonly string[], filesHash: string | undefined, fail: Fail): CopyStep {
  const [source = "", target = "", owner = "", mode = ""] = args;
  if (args.length < 2 || args.length > 4 || source === "" || target === "") return fail("takes source, target, and perhaps owner and mode");
  if (filesHash === undefined || !filesHashPattern.test(filesHash)) return fail("needs filesHash, 64 lower-case hexadecimal digits");
  if (mode !== "" && !/^[0-7]{3,4}$/.test(mode)) return fail(`mode ${JSON.stringify(mode)} must be octal, such as 0755`);
  return {
    kind: "copy",
    source,
    target,
    filesHash,
    ...(owner !== "" && { owner: ownerOf(owner, fail) }),
    ...(mode !== "" && { mode }),
  };
}

/** `u` means `u:u`. */
function ownerOf(text: string, fail: Fail): string {
  const [user = "", group = user, ...others] = text.split(":");
  if (others.length > 0) return fail(`owner ${JSON.stringify(text)} must be USER or USER:GROUP`);
  return `${account(user, fail)}:${account(group, fail)}`;
}

function account(name: string, fail: Fail): string {
  return accountPattern.test(name) ? name : fail(`${JSON.stringify(name)} is no name of a user`);
}

function runStep(args: readonly string[], fail: Fail): RunStep {
  const [command = "", user = ""] = args;
  if (args.length < 1 || args.length > 2 || command.trim() === "") return fail("takes a command, and perhaps a user");
  return { kind: "run", command, ...(user !== "" && { user: account(user, fail) }) };
}

function envStep(args: readonly string[], fail: Fail): EnvStep {
  if (args.length === 0 || args.length % 2 !== 0) return fail(`takes names and values in pairs, not ${args.length} arguments`);
  const pairs = Array.from({ length: args.length / 2 }, (_, at) => [args[2 * at] ?? "", args[2 * at + 1] ?? ""] as const);
  const bad = pairs.find(([name]) => !variablePattern.test(name));
  if (bad !== undefined) return fail(`${JSON.stringify(bad[0])} is no name of a variable`);
  return { kind: "env", pairs };
}
