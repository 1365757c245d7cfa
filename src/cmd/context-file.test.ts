import { chmod, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { contextFile, contextFilePath } from "./context-file.ts";

test("contexts and their keys are in a file that its user alone can read", async () => {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-contexts-"));
  try {
    const path = join(folder, "deep", "config.json");
    const store = contextFile(path);
    expect(await store.read()).toEqual({ contexts: {} });
    const file = { current: "p", contexts: { p: { url: "http://x", key: "e2b_secret" } } };
    await store.write(file);
    expect(await store.read()).toEqual(file);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(folder, "deep"))).toEqual(["config.json"]);

    await chmod(path, 0o644);
    await expect(store.read()).rejects.toThrow(`other users can read it. Fix it with: chmod 600 ${path}`);
    await store.write(file);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await writeFile(path, "nonsense");
    await expect(store.read()).rejects.toThrow(`${path} is not JSON`);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the file is where the environment says, or in the user's folder of configurations", () => {
  expect(contextFilePath({ AGENTBOX_CONFIG: "/a/c.json", XDG_CONFIG_HOME: "/x" })).toBe("/a/c.json");
  expect(contextFilePath({ XDG_CONFIG_HOME: "/x" })).toBe("/x/agentbox/config.json");
  expect(contextFilePath({})).toMatch(/\/\.config\/agentbox\/config\.json$/);
});
