/**
 * How steps are written down for the runner, all words 64 bits, little endian:
 *
 *    0  length of the script          8  length of the reply (from the beginning)
 *   16  place of the step that failed, or 0      24  its result
 *   32  steps of 72 bytes: call, six arguments, control, result; then what they point to
 *
 * The script is read to a fixed address, so pointers are known here.
 */
import type { Machine } from "./runner-program.ts";
import { numberOf, type SystemCall } from "./system-calls.ts";

export const scriptAddress = 0x10000000;
/** As the runner's code says. */
export const capacity = 0x400000;
const headerSize = 32;
const stepSize = 72;

/** Memory that a step writes to. */
export interface Room {
  readonly room: number;
}

/** A number as it is; anything else is put into memory and pointed to: texts with a zero at their end, lists with a zero entry. */
export type Argument = number | string | Uint8Array | readonly string[] | Room;

export interface Step {
  readonly call: SystemCall;
  readonly args: readonly Argument[];
  /** The script goes on when this step fails; its result says so. */
  readonly mayFail?: boolean;
  /** The third argument is the result of the step before. */
  readonly lengthFromLast?: boolean;
  /** The number of the step that follows, always or only when the result is 0. */
  readonly goTo?: number;
  readonly goToIfZero?: number;
}

export interface Script {
  readonly bytes: Buffer;
  readonly roomAt: ReadonlyMap<Room, number>;
}

export interface Reply {
  /** Which step ended the script, and its error number. */
  readonly failed?: { readonly step: number; readonly errno: number };
  readonly results: readonly number[];
  /** What a step wrote there. */
  contents(room: Room): Buffer;
}

export class ScriptTooLong extends Error {
  override readonly name = "ScriptTooLong";
}

/** `tells`: the reply holds results and rooms, not only the failure. */
export function writeScript(machine: Machine, steps: readonly Step[], tells: boolean): Script {
  const memory = new Memory(headerSize + stepSize * (steps.length + 1));
  const head = Buffer.alloc(memory.start);
  for (const [index, step] of steps.entries()) writeStep(head, headerSize + index * stepSize, { step, machine, memory });
  head.writeBigInt64LE(-1n, headerSize + steps.length * stepSize);
  const bytes = Buffer.concat([head, ...memory.parts]);
  if (bytes.length > capacity)
    throw new ScriptTooLong(`arguments and environment have ${bytes.length} bytes; at most ${capacity} are possible`);
  bytes.writeBigUInt64LE(BigInt(bytes.length), 0);
  bytes.writeBigUInt64LE(BigInt(tells ? bytes.length : headerSize), 8);
  return { bytes, roomAt: memory.rooms };
}

function writeStep(head: Buffer, at: number, { step, machine, memory }: { step: Step; machine: Machine; memory: Memory }): void {
  head.writeBigUInt64LE(BigInt(numberOf(step.call, machine)), at);
  for (const [index, argument] of step.args.entries()) {
    head.writeBigInt64LE(BigInt(typeof argument === "number" ? argument : memory.address(argument)), at + 8 + index * 8);
  }
  const target = step.goTo ?? step.goToIfZero;
  const flags =
    (step.mayFail === true ? 1 : 0) |
    (step.lengthFromLast === true ? 2 : 0) |
    (step.goToIfZero === undefined ? 0 : 4) |
    (step.goTo === undefined ? 0 : 8);
  head.writeUInt32LE(flags, at + 56);
  head.writeUInt32LE(target === undefined ? 0 : headerSize + target * stepSize, at + 60);
}

/** What lies behind the steps. */
class Memory {
  readonly start: number;
  readonly parts: Uint8Array[] = [];
  readonly rooms = new Map<Room, number>();
  /** What several steps point to is there once. */
  readonly #known = new Map<object, number>();
  #end: number;

  constructor(start: number) {
    this.start = start;
    this.#end = start;
  }

  address(argument: Exclude<Argument, number>): number {
    if (typeof argument === "string") return this.#put(Buffer.from(`${argument}\0`));
    const known = this.#known.get(argument) ?? this.#putObject(argument);
    this.#known.set(argument, known);
    return known;
  }

  #putObject(argument: Uint8Array | readonly string[] | Room): number {
    if (argument instanceof Uint8Array) return this.#put(argument);
    if ("room" in argument) {
      const address = this.#put(Buffer.alloc(argument.room));
      this.rooms.set(argument, address - scriptAddress);
      return address;
    }
    const list = Buffer.alloc((argument.length + 1) * 8);
    for (const [index, text] of argument.entries()) list.writeBigUInt64LE(BigInt(this.address(text)), index * 8);
    return this.#put(list);
  }

  #put(bytes: Uint8Array): number {
    const at = this.#end;
    // Words must lie on their boundaries.
    const padding = (8 - (bytes.length % 8)) % 8;
    this.parts.push(bytes, Buffer.alloc(padding));
    this.#end += bytes.length + padding;
    return scriptAddress + at;
  }
}

/** Undefined while the reply is not complete. */
export function readReply(script: Script, steps: number, bytes: Buffer): Reply | undefined {
  const length = Number(script.bytes.readBigUInt64LE(8));
  if (bytes.length < length) return undefined;
  const place = Number(bytes.readBigUInt64LE(16));
  const isTold = length > headerSize;
  return {
    ...(place === 0 ? {} : { failed: { step: (place - headerSize) / stepSize, errno: -Number(bytes.readBigInt64LE(24)) } }),
    results: isTold ? Array.from({ length: steps }, (_, index) => Number(bytes.readBigInt64LE(headerSize + index * stepSize + 64))) : [],
    contents: (room) => {
      const at = script.roomAt.get(room) ?? 0;
      return bytes.subarray(at, at + room.room);
    },
  };
}
