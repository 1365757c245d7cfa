import { expect, test } from "vitest";
import { fileTools } from "./file-tools.ts";
import { mcpLimits } from "./limits.ts";
import type { ToolSandboxes } from "./sandboxes.ts";

const { signal } = new AbortController();

/** Runs a tool over the few things of a sandbox that it asks for. */
async function use(name: string, input: object, sandboxes: Partial<ToolSandboxes>): Promise<string> {
  const tool = fileTools.find((one) => one.name === name);
  const call = { sandboxes: sandboxes as ToolSandboxes, session: { keep: false, readOnly: false }, signal, progress: () => {} };
  const result = await tool?.run(input as never, call);
  const [first] = result?.content ?? [];
  return first?.type === "text" ? first.text : "";
}

test("a search keeps no more than its bound, whatever the sandbox's programs let through", async () => {
  const line = Buffer.alloc(mcpLimits.searchOutput, "x");
  const run: ToolSandboxes["run"] = async (_, { onOutput }) => {
    for (let count = 0; count < 3; count++) onOutput("stdout", line);
    return { exitCode: 0, timedOut: false };
  };
  expect((await use("search_files", { sandboxId: "i-1", pattern: "x" }, { run })).length).toBe(mcpLimits.searchOutput);
});

test("edits are made all, one after the other, or none", async () => {
  const written: string[] = [];
  const sandboxes: Partial<ToolSandboxes> = {
    readFile: async () => ({ bytes: Buffer.from("one two"), size: 7 }),
    writeFile: async (_id, _path, bytes) => void written.push(bytes.toString()),
  };
  const edit = (...edits: readonly object[]) => use("edit_file", { sandboxId: "i-1", path: "a", edits }, sandboxes);
  await expect(edit({ oldText: "one", newText: "1" }, { oldText: "three", newText: "3" })).rejects.toThrow(
    "edits[1].oldText does not occur",
  );
  expect(written).toEqual([]);
  expect(await edit({ oldText: "one", newText: "two" }, { oldText: "two", newText: "2", replaceAll: true })).toBe("replaced 3 places in a");
  expect(written).toEqual(["2 2"]);
});
