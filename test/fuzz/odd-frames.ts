/** Calls of the Connect protocol: some that are right, most that are not. */
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { binaryCodec } from "#envd/connect/binary-codec.ts";
import { requestOf, services, type MethodKind } from "#envd-protocol/schema.ts";
import { brokenJson, oddJson, oddPath, oddText, spoiled } from "./odd-values.ts";

export interface Method {
  readonly path: string;
  readonly request: string;
  readonly kind: MethodKind;
}

export const methods: readonly Method[] = Object.entries(services).flatMap(([service, own]) =>
  Object.entries(own).map(([name, kind]) => ({ path: `${service}/${name}`, request: requestOf(service, name), kind })),
);

const config = { cmd: "/bin/sh", args: ["-c", "echo said"], envs: { A: "b" }, cwd: "/scratch" };
const selector = fc.oneof(spoiled({ pid: 7, tag: "t" }), fc.constantFrom({ tag: "t" }, { pid: 1 }, {}));
const size = { cols: 80, rows: 24 };
const text = Buffer.from("text").toString("base64");

/** Programs that end by themselves, or wait for what never comes. */
const command = fc.oneof(
  spoiled(config, fc.oneof(oddText, oddJson)),
  fc.constantFrom(["-c", "cat"], ["-c", "exit 3"], ["-c", "kill -9 $$"], []).map((args) => ({ cmd: "/bin/sh", args })),
);
const input = fc.oneof(spoiled({ stdin: text, pty: text }), fc.constantFrom({ stdin: text }, { pty: text }, { stdin: "no base64!" }));
const field: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  path: oddPath,
  source: oddPath,
  destination: oddPath,
  process: fc.oneof(command, selector),
  pty: fc.oneof(fc.constant({ size }), spoiled({ size }), oddJson),
  input,
  start: fc.oneof(
    selector.map((process) => ({ process })),
    oddJson,
  ),
  data: fc.oneof(
    input.map((own) => ({ input: own })),
    oddJson,
  ),
  tag: fc.constantFrom("t", "u"),
  // A walk through everything there is takes as long as it takes.
  depth: fc.constantFrom<unknown>(0, 1, 3, -1, 2 ** 32, "2", 1.5, null),
  watcherId: fc.constantFrom("w1", "w2", "w9999", ""),
};

const unsafe = new Set(["filesystem.Filesystem/Remove", "filesystem.Filesystem/Move"]);

/** The fields that any message has, of any type: what a method does not know it passes over. */
export function messageFor(method: Method): fc.Arbitrary<unknown> {
  // The cage is to stand at the end of the run.
  if (unsafe.has(method.path)) {
    const within = oddPath.map((path) => `/scratch/${path.replaceAll("..", "dots")}`);
    return fc.record({ path: within, source: within, destination: within });
  }
  const known = fc.record(field, { requiredKeys: [] });
  return fc.oneof(
    { weight: 5, arbitrary: known },
    { weight: 1, arbitrary: fc.tuple(known, oddJson).map(([given, odd]) => ({ ...given, process: odd })) },
    { weight: 1, arbitrary: oddJson },
  );
}

/** A message as bytes of a codec: right, cut, or bytes of anything. */
export function payloadFor(method: Method, codec: "json" | "proto"): fc.Arbitrary<Buffer> {
  const right = messageFor(method).map((message) => encoded(method, codec, message));
  return fc.oneof(
    { weight: 6, arbitrary: right },
    { weight: 1, arbitrary: fc.tuple(right, fc.nat(20)).map(([bytes, at]) => bytes.subarray(0, at)) },
    { weight: 1, arbitrary: fc.tuple(right, fc.nat(60), fc.nat(255)).map(([bytes, at, value]) => changed(bytes, at, value)) },
    { weight: 2, arbitrary: brokenJson },
  );
}

function encoded(method: Method, codec: "json" | "proto", message: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(message) ?? "");
  if (codec === "json") return json;
  try {
    return binaryCodec.encode(method.request, message as object);
  } catch {
    // No message of this type; its reader finds text.
    return json;
  }
}

function changed(bytes: Buffer, at: number, value: number): Buffer {
  const copy = Buffer.from(bytes);
  if (at < copy.length) copy[at] = value;
  return copy;
}

/** A stream's message: with flags and lengths that are right, or are not. */
export function frameOf(payload: fc.Arbitrary<Buffer>): fc.Arbitrary<Buffer> {
  const flags = fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 4, arbitrary: fc.constantFrom(1, 2, 3, 4, 128, 255) });
  const length = fc.oneof(
    { weight: 8, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.nat(100) },
    { weight: 1, arbitrary: fc.constantFrom(33 * 1024 * 1024, 2 ** 31, 2 ** 32 - 1) },
  );
  return fc.tuple(payload, flags, length, fc.boolean()).map(([bytes, flag, announced, isZipped]) => {
    const body = (flag & 1) === 1 && isZipped ? gzipSync(bytes) : bytes;
    const head = Buffer.alloc(5);
    head.writeUInt8(flag, 0);
    head.writeUInt32BE(announced ?? body.length, 1);
    return Buffer.concat([head, body]);
  });
}
