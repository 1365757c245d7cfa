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
type StepType = (typeof stepTypes)[number];

export const filesHashPattern = /^[0-9a-f]{64}$/;
/** What a Linux account may be called, or a number. */
const accountPattern = /^(?:[a-z_][a-z0-9_.-]{0,30}\$?|\d{1,10})$/i;
/** An object cannot hold `__proto__` as others, and it would be lost without a word. */
const variablePattern = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_]*$/;

type Fail = (why: string) => never;

/** `number`: from 1 on. Throws BuildFailure. */
export function readStep(step: WireStep, number: number): BuildStep {
  const { type, args = [] } = step;
  const fail: Fail = (why) => {
    throw new BuildFailure(number, `step ${number} (${type}): ${why}`);
  };
  if (args.some((arg) => arg.includes("\0"))) return fail("an argument has a zero byte in it");
  const reader = Object.hasOwn(readers, type) ? readers[type as StepType] : undefined;
  return reader === undefined ? fail(`is no type of step; there are ${stepTypes.join(", ")}`) : reader(step, fail);
}

const readers: Readonly<Record<StepType, (step: WireStep, fail: Fail) => BuildStep>> = {
  COPY: copyStep,
  RUN: ({ args = [] }, fail) => runStep(args, fail),
  WORKDIR: ({ args = [] }, fail) => ({ kind: "workdir", path: only(args, fail) }),
  USER: ({ args = [] }, fail) => ({ kind: "user", name: account(only(args, fail), fail) }),
  ENV: ({ args = [] }, fail) => envStep(args, fail),
};

function only([one = "", ...others]: readonly string[], fail: Fail): string {
  return one === "" || others.length > 0 ? fail("takes one argument") : one;
}

function copyStep({ args = [], filesHash = "" }: WireStep, fail: Fail): CopyStep {
  const [source, target, owner, mode, ...others] = [...args, "", "", "", ""].slice(0, Math.max(4, args.length)) as [
    string,
    string,
    string,
    string,
  ];
  if (others.length > 0 || source === "" || target === "") return fail("takes source, target, and perhaps owner and mode");
  if (!filesHashPattern.test(filesHash)) return fail("needs filesHash, 64 lower-case hexadecimal digits");
  if (mode !== "" && !/^[0-7]{3,4}$/.test(mode)) return fail(`mode ${JSON.stringify(mode)} must be octal, such as 0755`);
  const wishes = { ...(owner !== "" && { owner: ownerOf(owner, fail) }), ...(mode !== "" && { mode }) };
  return { kind: "copy", source, target, filesHash, ...wishes };
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
