import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { clusterLayout } from "./layout.ts";
import { type Program, Programs } from "./programs.ts";

let folder: string;
let programs: Programs;
const said: string[] = [];
const say = (line: string): void => void said.push(line.trim());
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentbox-programs-"));
  programs = new Programs(clusterLayout(folder));
  said.length = 0;
});
afterEach(async () => {
  await Promise.all(programs.recorded().map((name) => programs.stop(name, 0)));
  await rm(folder, { recursive: true });
});

function sleeper(ready: () => boolean = () => true): Program {
  return { name: "sleeper", command: "sleep", args: ["1000"], ready: async () => ready() };
}

test("a program that runs is left alone, whoever started it", async () => {
  expect(await programs.ensure(sleeper(), say)).toBe(true);
  const pid = programs.pid("sleeper");
  const another = new Programs(clusterLayout(folder));
  expect(await another.ensure(sleeper(), say)).toBe(false);
  expect(another.pid("sleeper")).toBe(pid);
  expect(await another.state(sleeper())).toBe("running");
});

test("a program is in a session of its own, so that the end of a terminal is not its end", async () => {
  await programs.ensure(sleeper(), say);
  const pid = programs.pid("sleeper") ?? -1;
  const session = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ")[3];
  expect(session).toBe(String(pid));
});

test("a program that was killed, or runs but does not answer, is started anew", async () => {
  await programs.ensure(sleeper(), say);
  const first = programs.pid("sleeper") ?? -1;
  process.kill(first, "SIGKILL");
  await expect.poll(() => programs.state(sleeper())).toBe("ended");
  await programs.ensure(sleeper(), say);
  const second = programs.pid("sleeper");
  expect(second).not.toBe(first);

  const hanging = sleeper(() => programs.pid("sleeper") !== second);
  expect(await programs.state(hanging)).toBe("not answering");
  await programs.ensure(hanging, say);
  expect(programs.pid("sleeper")).not.toBe(second);
  expect(said).toEqual([
    "starting sleeper …",
    "restarting sleeper …",
    "sleeper runs but does not answer; it is started anew",
    "restarting sleeper …",
  ]);
});

test("a program is started anew when its options or its configuration have changed since", async () => {
  const config = join(folder, "config");
  await writeFile(config, "a = 1");
  const configured: Program = { ...sleeper(), files: [config] };
  await programs.ensure(configured, say);
  expect(await programs.ensure(configured, say)).toBe(false);
  await writeFile(config, "a = 2");
  expect(await programs.ensure(configured, say)).toBe(true);
  expect(await programs.ensure({ ...configured, args: ["2000"] }, say)).toBe(true);
  expect(said.filter((line) => line.includes("runs with other options"))).toHaveLength(2);
});

test("where only a part of the options counts, others may differ", async () => {
  const counted: Program = { ...sleeper(), identity: ["sleeper"] };
  await programs.ensure(counted, say);
  expect(await programs.ensure({ ...counted, args: ["2000"] }, say)).toBe(false);
  expect(await programs.ensure({ ...counted, identity: ["sleeper", "anew"] }, say)).toBe(true);
});

test("a program that cannot start is told with the end of its log", async () => {
  const broken: Program = { name: "broken", command: "sh", args: ["-c", "echo no such option >&2; exit 1"], ready: async () => false };
  await expect(programs.ensure(broken, say)).rejects.toThrow(/broken ended; the end of its log:\nno such option/);
  const missing: Program = { name: "missing", command: "/no/such/program", args: [], ready: async () => true };
  await expect(programs.ensure(missing, say)).rejects.toThrow("/no/such/program could not be started");
});

test("a program that does not end when asked is ended", async () => {
  const stubborn: Program = {
    name: "stubborn",
    command: "sh",
    args: ["-c", "trap '' TERM; echo ready; while :; do sleep 1; done"],
    ready: async () => true,
  };
  await programs.ensure(stubborn, say);
  await expect.poll(() => readFileSync(join(folder, "logs/stubborn.log"), "utf8")).toBe("ready\n");
  await programs.stop("stubborn", 50);
  expect(await programs.state(stubborn)).toBe("never started");
});
