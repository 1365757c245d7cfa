import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inChunks } from "../../../test/world/layer-archive.ts";
import { SparseFile } from "./sparse-file.ts";

let folder: string;
let count = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "agentbox-sparse-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function written(content: Buffer, chunkSize: number): Promise<{ path: string; diskBytes: number }> {
  const path = join(folder, String(count++));
  const fd = openSync(path, "wx");
  try {
    const file = new SparseFile(fd);
    for await (const chunk of inChunks(content, chunkSize)) file.write(chunk);
    return { path, diskBytes: file.finish() };
  } finally {
    closeSync(fd);
  }
}

test("whatever is written is read again, in whatever pieces it comes", async () => {
  const run = fc.record({ length: fc.integer({ min: 0, max: 9000 }), byte: fc.constantFrom(0, 0, 7) });
  await fc.assert(
    fc.asyncProperty(fc.array(run, { maxLength: 6 }), fc.integer({ min: 1, max: 10_000 }), async (runs, chunkSize) => {
      const content = Buffer.concat(runs.map(({ length, byte }) => Buffer.alloc(length, byte)));
      const { path } = await written(content, chunkSize);
      expect(readFileSync(path).equals(content)).toBe(true);
    }),
    { numRuns: 60 },
  );
});

test("zeros take no room on the disk, at the beginning, in the middle and at the end", async () => {
  const zeros = Buffer.alloc(32 * 1024 * 1024);
  const { path, diskBytes } = await written(Buffer.concat([zeros, Buffer.from("x"), zeros]), 256 * 1024);
  expect(statSync(path).size).toBe(2 * zeros.length + 1);
  expect(diskBytes).toBeLessThanOrEqual(64 * 1024);
  expect((await written(zeros, 1000)).diskBytes).toBe(0);
});
