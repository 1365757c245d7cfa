import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PodFolder } from "./records.ts";

let pods: string;
beforeEach(() => {
  pods = mkdtempSync(join(tmpdir(), "agentbox-records-"));
});
afterEach(() => rmSync(pods, { recursive: true }));

const plan = { uid: "u", namespace: "n", name: "p", hostname: "h", limits: { pids: 1 } };
const container = {
  id: "c1",
  name: "main",
  attempt: 2,
  annotations: { a: "b" },
  imageId: "i",
  imageDigest: "d",
  runtime: "runc",
  logFile: "/log",
};

test("what is written is read by the next life", () => {
  const folder = new PodFolder(pods, "u");
  expect(folder.readPod()).toBeUndefined();
  folder.writePod({ plan, slot: 4, disk: "loop" });
  folder.writeContainer(container);
  folder.writeContainer({ ...container, process: { pid: 7, startTime: 8 } });
  folder.writeStart("c1", { startedAt: 9 });
  folder.writeExit("c1", { code: 1, oomKilled: false, finishedAt: 10 });
  const next = new PodFolder(pods, "u");
  expect(next.readPod()).toEqual({ plan, slot: 4, disk: "loop" });
  expect(next.containerIds()).toEqual(["c1"]);
  expect(next.readContainer("c1")).toEqual({ ...container, process: { pid: 7, startTime: 8 } });
  expect(next.readStart("c1")).toEqual({ startedAt: 9 });
  expect(next.readExit("c1")).toEqual({ code: 1, oomKilled: false, finishedAt: 10 });
});

test("a pod that is being removed says so", () => {
  const folder = new PodFolder(pods, "u");
  folder.writePod({ plan, slot: 4, disk: "none" });
  expect(folder.isRemoving()).toBe(false);
  folder.markRemoving();
  expect(new PodFolder(pods, "u").isRemoving()).toBe(true);
});

test("a record that was being written when its process died is as if it had not been written", () => {
  const folder = new PodFolder(pods, "u");
  folder.writePod({ plan, slot: 4, disk: "none" });
  writeFileSync(join(folder.path, "pod.json.new"), '{"plan"');
  expect(folder.readPod()?.slot).toBe(4);
  expect(folder.containerIds()).toEqual([]);
  expect(readdirSync(pods)).toEqual(["u"]);
});
