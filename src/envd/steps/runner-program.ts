/**
 * The step runner: a static program of a few hundred bytes beside the daemon that makes system calls it is sent, one after the
 * other. Node can neither open a terminal, nor become another user between fork and exec, nor read extended attributes; a native
 * addon would have to be built for every C library, and a helper in C would need a compiler wherever AgentBox is set up (ADR 28).
 * So what is to be done is decided and written in TypeScript, and the part that must be machine code only obeys.
 * - `script.ts`: how steps are written down, - `system-calls.ts`: their numbers, - `step-child.ts`: a runner at work.
 *
 * It reads a script from descriptor 3, makes its steps, writes back what became of them, and reads the next one until nobody sends
 * any more. It has no more rights than whoever starts it. The code below is what `as` makes of step-runner.<machine>.s.
 */
import { capacity, scriptAddress } from "./script.ts";

export type Machine = "x64" | "arm64";

export const machineCode: Readonly<Record<Machine, string>> = {
  x64: `
    bb0000001031ed31c0bf03000000488d342bba0000400029ea0f054885c00f8e
    ae0000004801c54883fd0872da483b2b72d548c74310000000004c8d63204531
    ed498b04244883f8ff746f498b7c2408498b742410498b5424184d8b5424204d
    8b4424284d8b4c24304d8b74243841f6c602490f45d50f054989c54989442440
    4885c0790641f6c601742141f6c608751141f6c60474054885c074064983c448
    eb9f49c1ee204e8d2433eb954c89e14829d948894b1048894318b801000000bf
    030000004889de488b53080f05e933ffffffb8e700000031ff0f05`,
  arm64: `
    1300a2d2140080d2600080d26102148b0208a0d2420014cbe80780d2010000d4
    1f0000f10d0500549402008b9f2200f1c3feff54690240f99f0209eb63feff54
    7f0a00f975820091160080d2a80240f91f0500b1c0020054a08640a9a28e41a9
    a49642a9b71e40f957000836e20316aa010000d4f60300aaa02200f94000f8b6
    37010036b700183757001036600000b4b5220191eeffff17e9fe60d37502098b
    ebffff17a90213cb690201a9600080d2e10313aa620640f9080880d2010000d4
    d1ffff17000080d2c80b80d2010000d4`,
};

export function codeOf(machine: Machine): Buffer {
  return Buffer.from(machineCode[machine].replaceAll(/\s/g, ""), "hex");
}

const codeAddress = 0x400000;
const elfHeaderSize = 64;
const programHeaderSize = 56;
const elfMachine: Readonly<Record<Machine, number>> = { x64: 62, arm64: 183 };
const readWrite = 6;
const readExecute = 5;

/** The whole file: an ELF header, two segments (the code; room for a script) and the code. */
export function runnerProgram(machine: string): Buffer {
  if (machine !== "x64" && machine !== "arm64") throw new Error(`there is no step runner for ${machine}; it is written for x64 and arm64`);
  const code = codeOf(machine);
  const codeOffset = elfHeaderSize + 3 * programHeaderSize;
  const file = Buffer.alloc(codeOffset);
  file.set([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]);
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(elfMachine[machine], 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(codeAddress + codeOffset), 24);
  file.writeBigUInt64LE(BigInt(elfHeaderSize), 32);
  file.writeUInt16LE(elfHeaderSize, 52);
  file.writeUInt16LE(programHeaderSize, 54);
  file.writeUInt16LE(3, 56);
  const size = codeOffset + code.length;
  writeSegment(file, 0, { type: 1, flags: readExecute, address: codeAddress, fileSize: size, memorySize: size });
  writeSegment(file, 1, { type: 1, flags: readWrite, address: scriptAddress, fileSize: 0, memorySize: capacity });
  // PT_GNU_STACK: without it the kernel makes the stack executable.
  writeSegment(file, 2, { type: 0x6474e551, flags: readWrite, address: 0, fileSize: 0, memorySize: 0 });
  return Buffer.concat([file, code]);
}

interface Segment {
  readonly type: number;
  readonly flags: number;
  readonly address: number;
  readonly fileSize: number;
  readonly memorySize: number;
}

function writeSegment(file: Buffer, index: number, { type, flags, address, fileSize, memorySize }: Segment): void {
  const at = elfHeaderSize + index * programHeaderSize;
  file.writeUInt32LE(type, at);
  file.writeUInt32LE(flags, at + 4);
  file.writeBigUInt64LE(BigInt(address), at + 16);
  file.writeBigUInt64LE(BigInt(address), at + 24);
  file.writeBigUInt64LE(BigInt(fileSize), at + 32);
  file.writeBigUInt64LE(BigInt(memorySize), at + 40);
  file.writeBigUInt64LE(0x1000n, at + 48);
}
