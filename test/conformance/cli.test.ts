/** E2B's own command line. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, inject, test } from "vitest";
import { cliProgram } from "./install.ts";
import { type Mode, modes, processEnvironment } from "./server-under-test.ts";

interface Said {
  readonly stdout: string;
  readonly code: number | null;
}

const names = join(import.meta.dirname, "local-names/lookup.ts");

async function e2b(mode: Mode, args: readonly string[], stdin = ""): Promise<Said> {
  const env = processEnvironment(inject("conformance"), mode);
  const program = ["--import", names, cliProgram(), ...args];
  const child = spawn(process.execPath, program, { env, stdio: ["pipe", "pipe", "inherit"], timeout: 50_000 });
  child.stdin.end(stdin);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [stdout, code] = await Promise.all([text(child.stdout), ended]);
  return { stdout, code };
}

describe.each(modes)("@e2b/cli, by %s:", (mode) => {
  const sandbox = (...args: readonly string[]): Promise<Said> => e2b(mode, ["sandbox", ...args]);
  let id = "";

  beforeEach(async () => {
    id = (await sandbox("create", "base", "--detach")).stdout.trim();
  });

  afterEach(async () => {
    await sandbox("kill", id);
  });

  test("makes a sandbox and says its id, which is listed", async () => {
    expect(id).toMatch(/^[a-z0-9]+$/);
    const listed = JSON.parse((await sandbox("list", "-f", "json")).stdout) as readonly { readonly sandboxId: string }[];
    expect(listed.map(({ sandboxId }) => sandboxId)).toContain(id);
  });

  test("tells about a sandbox", async () => {
    const { stdout } = await sandbox("info", id);
    expect(stdout).toMatch(/Template ID: base/);
    expect(stdout).toMatch(/State: running/);
  });

  test("runs a command, with its output and exit code", async () => {
    expect(await sandbox("exec", id, "echo hi; exit 4")).toEqual({ stdout: "hi\n", code: 4 });
  });

  test("passes its input on to a command", async () => {
    expect(await e2b(mode, ["sandbox", "exec", id, "cat"], "in ✓\n")).toEqual({ stdout: "in ✓\n", code: 0 });
  });

  test("shows logs", async () => {
    expect(await sandbox("logs", id)).toMatchObject({ stdout: expect.stringContaining(`Logs for sandbox ${id}`), code: 0 });
  });

  test("pauses and resumes", async () => {
    expect((await sandbox("pause", id)).stdout).toContain("has been paused");
    expect((await sandbox("info", id)).stdout).toContain("State: paused");
    expect((await sandbox("resume", id)).stdout).toContain("has been resumed");
    expect((await sandbox("exec", id, "echo back")).stdout).toBe("back\n");
  });

  test("kills, and finds nothing to kill afterwards", async () => {
    expect((await sandbox("kill", id)).stdout).toContain("has been killed");
    expect((await sandbox("kill", id)).stdout).not.toContain("has been killed");
  });

  test("lists what sandboxes can be made from", async () => {
    expect((await e2b(mode, ["template", "list"])).stdout).toMatch(/\bbase\b/);
  });
});
