import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { settle } from "../../../../../test/world/stepped-clock.ts";
import { FirstWords } from "./late-failure.ts";

async function codeAfter(code: number, out: string, errors: string): Promise<number> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const words = new FirstWords(stdout, stderr);
  const found = words.shellCode(code);
  await settle();
  stdout.end(out);
  stderr.end(errors);
  return found;
}

test.each([
  [255, "", "exec /tmp/script: no such file or directory\n", 127],
  [255, "", "exec /tmp/a b: exec format error\n", 126],
  [255, "exec /tmp/x: permission denied\r\n", "", 126],
  [255, "", "", 255],
  [255, "out", "exec /tmp/script: no such file or directory\n", 255],
  [255, "", "exec /tmp/script: no such file or directory\nmore\n", 255],
  [1, "", "exec /tmp/script: no such file or directory\n", 127],
  [2, "", "exec /tmp/script: no such file or directory\n", 2],
])("%d with %j and %j is %d", async (code, out, errors, expected) => {
  expect(await codeAfter(code, out, errors)).toBe(expected);
});

test("an output that is too long for a reason is not waited for", async () => {
  const stream = new PassThrough();
  const words = new FirstWords(stream);
  stream.write("x".repeat(5000));
  expect(await words.shellCode(255)).toBe(255);
});
