import { expect, test } from "vitest";
import { binaryCodec } from "./binary-codec.ts";
import { jsonCodec } from "./codec.ts";
import { FrameReader, frame } from "./frames.ts";
import { readMessage } from "./json-message.ts";

test("a message is taken in the forms that JSON allows", () => {
  expect(readMessage("filesystem.ListDirRequest", { path: "/x", depth: "3", unknown: 1 })).toEqual({ path: "/x", depth: 3 });
  expect(readMessage("filesystem.WatchDirRequest", { include_entry: true, path: null })).toEqual({ includeEntry: true });
  expect(readMessage("process.SendSignalRequest", { signal: 9 })).toEqual({ signal: "SIGNAL_SIGKILL" });
  expect(readMessage("process.SendSignalRequest", { signal: 3 })).toEqual({ signal: 3 });
});

test.for<[string, unknown, string]>([
  ["process.StartRequest", [], "must be an object"],
  ["process.StartRequest", { process: { args: "x" } }, "process.args must be a list"],
  ["process.StartRequest", { process: { envs: { A: 1 } } }, "envs.A must be a text"],
  ["process.StartRequest", { stdin: "yes" }, "stdin must be true or false"],
  ["process.ProcessSelector", { pid: -1 }, "pid must be a whole number"],
  ["process.ProcessSelector", { pid: 1, tag: "x" }, "more than one of pid, tag"],
  ["process.ProcessInput", { stdin: "%%%" }, "stdin must be base64"],
  ["process.SendSignalRequest", { signal: "SIGNAL_SIGINT" }, "signal must be one of"],
])("%s does not take %j", ([type, value, message]) => {
  expect(() => readMessage(type, value)).toThrow(message);
});

test("both codecs say the same", () => {
  const event = { event: { end: { exitCode: -1, exited: false, status: "signal: killed", error: "signal: killed" } } };
  const bytes = binaryCodec.encode("process.StartResponse", event);
  expect(binaryCodec.decode("process.StartResponse", bytes)).toEqual({
    event: { end: { exitCode: -1, status: "signal: killed", error: "signal: killed" } },
  });
  expect(jsonCodec.decode("process.StartResponse", jsonCodec.encode("process.StartResponse", event))).toEqual(event);
  expect(() => binaryCodec.decode("process.StartRequest", Buffer.from([255, 255]))).toThrow("not a process.StartRequest");
});

test("frames come out whole however they are cut, and one too large is refused by its announcement", () => {
  const bytes = Buffer.concat([frame(0, Buffer.from("one")), frame(2, Buffer.alloc(0)), frame(1, Buffer.from("three"))]);
  const reader = new FrameReader(10);
  const got = [...bytes].flatMap((byte) => reader.push(Buffer.from([byte])));
  expect(got.map(({ flags, payload }) => [flags, payload.toString()])).toEqual([
    [0, "one"],
    [2, ""],
    [1, "three"],
  ]);
  reader.end();
  expect(() => reader.push(frame(0, Buffer.alloc(11)).subarray(0, 5))).toThrow("at most 10");
});
