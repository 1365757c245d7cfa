import { expect, test } from "vitest";
import { execBody } from "./exec-body.ts";

const none = { bytes: Buffer.alloc(0), written: 0 };

test("text is text, with its byte order mark and its zeros", () => {
  const bytes = Buffer.from("\uFEFFé\0\n");
  expect(execBody({ exitCode: 0, stdout: { bytes, written: bytes.length }, stderr: none })).toEqual({
    exitCode: 0,
    stdout: "\uFEFFé\0\n",
    stdoutEncoding: "utf-8",
    stdoutBytes: 7,
    stderr: "",
    stderrEncoding: "utf-8",
    stderrBytes: 0,
    truncated: false,
  });
});

test("what is no text comes as base64, byte for byte", () => {
  const bytes = Buffer.from([0x66, 0xff, 0x00, 0xc3]);
  const body = execBody({ exitCode: 0, stdout: none, stderr: { bytes, written: 4 } });
  expect([body.stderrEncoding, Buffer.from(body.stderr, "base64")]).toEqual(["base64", bytes]);
  expect(body.stdoutEncoding).toBe("utf-8");
});

test("what is missing is said, and a character that the end was cut in is not half there", () => {
  const bytes = Buffer.from("aé").subarray(0, 2);
  const body = execBody({ exitCode: 0, stdout: { bytes, written: 9 }, stderr: none });
  expect([body.truncated, body.stdout, body.stdoutEncoding, body.stdoutBytes]).toEqual([true, "a", "utf-8", 9]);
});
