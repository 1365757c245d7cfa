import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { recordedLog } from "../../../../../test/world/recorded-log.ts";
import { machineSocketBytes, raiseMachineQuotas, wantedQuotas } from "./machine-quotas.ts";

function aQuota(value: string): string {
  const folder = mkdtempSync(join(tmpdir(), "agentbox-quota-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "max");
  writeFileSync(file, `${value}\n`);
  return file;
}

test("terminals are raised to what all slots together may have, within what the kernel takes", () => {
  const terminals = (slots: number): string | undefined =>
    wantedQuotas({ slots, memoryBytes: 2 ** 34 }).find(({ file }) => file.endsWith("pty/max"))?.atLeast;
  expect(terminals(1024)).toBe(String(4096 + 1024 * 256));
  expect(terminals(60_000)).toBe(String(1 << 20));
});

test("processes of all sandboxes together, however many, leave the machine some", () => {
  const quotas = wantedQuotas({ slots: 1024, memoryBytes: 2 ** 34 });
  const atLeast = (name: string): number => Number(quotas.find(({ file }) => file.endsWith(name))?.atLeast);
  expect([atLeast("/pid_max"), atLeast("/threads-max")]).toEqual([4_194_304, 4_194_304]);
  expect(atLeast("/neigh/default/gc_thresh3")).toBe(1024 + 2 * 1024);
});

test("a quota is raised, never lowered", () => {
  const [low, high] = [aQuota("4096"), aQuota("9000000000000000000")];
  const { log, lines } = recordedLog();
  raiseMachineQuotas(
    [low, high].map((file) => ({ file, atLeast: "5000" })),
    log,
  );
  expect(readFileSync(low, "utf8")).toBe("5000");
  expect(readFileSync(high, "utf8")).toBe("9000000000000000000\n");
  expect(lines).toMatchObject([{ level: "info", file: low, before: "4096", now: "5000" }]);
});

test("a machine that has no such quota is not stopped by it", () => {
  const file = `${aQuota("1")}-missing`;
  expect(() => raiseMachineQuotas([{ file, atLeast: "5000" }], recordedLog().log)).not.toThrow();
});

test("what sockets may hold is the last of the kernel's three numbers, in pages", () => {
  expect(machineSocketBytes(aQuota("287901\t383870\t575802"))).toBe(575_802 * 4096);
});
