/** The real program, started and used as people do: bin/agentbox in processes of its own. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Said } from "../world/run-cli.ts";
import { chosenServers } from "./servers.ts";

const root = join(import.meta.dirname, "../..");
const launcher = join(root, "bin/agentbox");

/** It has nothing to do with a real API server, where the contracts of this folder run as well. */
const onThisMachine = !chosenServers().includes("kubernetes");

let folder: string;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-process-"));
  env = { ...process.env, AGENTBOX_HOME: join(folder, "home") };
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function agentbox(args: readonly string[], cwd: string = root, program = launcher): Promise<Said> {
  return new Promise((resolve) => {
    execFile(program, [...args], { cwd, env }, (error, stdout, stderr) => {
      resolve({ stdout, stderr, code: error === null ? 0 : Number(error.code) });
    });
  });
}

/** `agentbox up`, as soon as it has said that it runs. */
async function up(): Promise<{ readonly server: ChildProcess; readonly said: () => string }> {
  const server = spawn(launcher, ["up", "--no-sandboxes", "--port", "0"], { env, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  await new Promise<void>((resolve, reject) => {
    for (const stream of [server.stdout, server.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes("Ctrl-C stops it.")) resolve();
      });
    }
    server.once("exit", () => reject(new Error(`agentbox up ended: ${said}`)));
  });
  return { server, said: () => said };
}

function exit(server: ChildProcess): Promise<[code: number | null, signal: string | null]> {
  return new Promise((resolve) => server.once("exit", (code, signal) => resolve([code, signal])));
}

describe.runIf(onThisMachine)("without a server", () => {
  test("a command says how to start one", async () => {
    expect(await agentbox(["get", "pods"])).toEqual({
      stdout: "",
      stderr: `AgentBox is not running (no socket at ${join(folder, "home/run/api.sock")}). Start it with: make up\n`,
      code: 1,
    });
  });

  test("the launcher works from any folder and through symlinks", async () => {
    const [direct, relative] = [join(folder, "agentbox"), join(folder, "ab")];
    await symlink(launcher, direct);
    await symlink("agentbox", relative);
    for (const program of [launcher, direct, relative]) {
      expect(await agentbox(["version"], folder, program)).toMatchObject({
        stdout: expect.stringMatching(/^agentbox \d+\.\d+\.\d+ /),
        code: 0,
      });
    }
  });

  test("a folder whose name is too long is refused", async () => {
    env = { ...env, AGENTBOX_HOME: join(folder, "x".repeat(100)) };
    expect((await agentbox(["version"])).stderr).toContain("choose a shorter AGENTBOX_HOME");
    env = { ...env, AGENTBOX_HOME: join(folder, "home") };
  });
});

describe.runIf(onThisMachine)("with a server", () => {
  test("the examples are applied, seen and deleted, and the server ends when told", async () => {
    const { server, said } = await up();
    const ended = exit(server);
    const applied = await agentbox(["apply", "-f", "deploy/examples"]);
    expect(applied).toMatchObject({ stderr: "", code: 0 });
    expect(applied.stdout.split("\n").map((line) => line.split(" ")[1])).toEqual([
      "created",
      "created",
      "created",
      "created",
      "created",
      undefined,
    ]);
    const again = (await agentbox(["apply", "-f", "deploy/examples"])).stdout.split("\n");
    expect(again.map((line) => line.split(" ")[1])).toEqual(["unchanged", "unchanged", "unchanged", "unchanged", "unchanged", undefined]);
    expect((await agentbox(["get", "sandboxpools"])).stdout).toMatch(/^NAME +PHASE +DESIRED .*\nshell-by-hand +2 +/);
    expect((await agentbox(["env", "-o", "json"])).stdout).toContain(`"AGENTBOX_API_URL": "http://127.0.0.1:`);
    expect((await agentbox(["delete", "-f", "deploy/examples"])).stdout.trim().split("\n")).toHaveLength(5);

    const second = await agentbox(["up", "--no-sandboxes", "--port", "0"]);
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining(`(process ${server.pid}, http://127.0.0.1:`) });

    server.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
    expect(said()).toContain("AgentBox has stopped.");
    expect(existsSync(join(folder, "home/run/api.sock"))).toBe(false);
  });

  test("a killed server leaves a socket that the next one replaces", async () => {
    const { server } = await up();
    const killed = exit(server);
    server.kill("SIGKILL");
    await killed;
    expect(existsSync(join(folder, "home/run/api.sock"))).toBe(true);
    expect((await agentbox(["get", "pods"])).stderr).toContain("AgentBox is not running");
    const next = await up();
    expect(await agentbox(["get", "ns", "default", "-o", "name"])).toMatchObject({ stdout: "namespace/default\n", code: 0 });
    const ended = exit(next.server);
    next.server.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
  });

  test("a reader that closes early is no failure", async () => {
    const { server } = await up();
    const said = await new Promise<string>((resolve) => {
      execFile("sh", ["-c", `"${launcher}" get ns -o yaml | head -n 1; echo done`], { env }, (_error, stdout, stderr) =>
        resolve(stdout + stderr),
      );
    });
    expect(said).toBe("apiVersion: v1\ndone\n");
    const ended = exit(server);
    server.kill("SIGTERM");
    await ended;
  });
});
