import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hostImage } from "#engines/embedded/node/host-image/host-image.ts";

test("the first sandboxes of a fresh machine, all started at once, share one making of the image", async () => {
  const folder = mkdtempSync(join(tmpdir(), "agentbox-host-"));
  try {
    const images = await Promise.all([hostImage(folder), hostImage(folder), hostImage(folder)]);
    expect(new Set(images.map(({ digest }) => digest)).size).toBe(1);
    expect(readdirSync(folder)).toEqual([images[0]?.digest.slice("sha256:".length, "sha256:".length + 16)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
