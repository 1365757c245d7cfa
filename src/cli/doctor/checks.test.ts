import { expect, test } from "vitest";
import { healthyMachine } from "../../../test/world/run-cli.ts";
import { diagnose, type Probed } from "./checks.ts";

const well: Probed = { ...healthyMachine, clockOffMs: 0, api: undefined, cluster: undefined };
const now = Date.parse("2026-01-01T00:00:00Z");
const day = 24 * 3_600_000;

test("a machine on which all is well has no finding but good ones", () => {
  expect(diagnose(well, now, false).filter(({ verdict }) => verdict !== "ok")).toEqual([]);
  expect(diagnose(well, now, false)).toHaveLength(16);
});

test.each<[string, Partial<Probed>, string, string]>([
  ["kernel", { kernel: "5.10.0" }, "problem", "older than 5.19"],
  ["kernel", { kernel: undefined }, "problem", "unknown version"],
  ["rights", { isRoot: false }, "warning", "not root"],
  ["cgroups", { cgroup: "none" }, "problem", "no control groups"],
  ["cgroups", { controllers: ["cpu", "pids"] }, "problem", "lack memory"],
  ["cgroups", { cgroup: "v1" }, "warning", "version 1"],
  ["user namespaces", { maxUserNamespaces: 0 }, "problem", "disabled"],
  ["overlay", { fileSystems: ["ext4"] }, "problem", "no overlayfs"],
  ["runtime", { runc: { version: "1.1.5", hole: "runc 1.1.5 lets containers out" } }, "problem", "lets containers out"],
  ["runtime", { runc: undefined, server: { isRunning: false, health: undefined } }, "warning", "not installed yet"],
  ["programs", { commands: { ip: true } }, "problem", "missing: nft"],
  ["disk", { disk: { path: "/d", freeBytes: 5e8, totalBytes: 1e11 } }, "problem", "only 0.5 GB"],
  ["disk", { disk: { path: "/d", freeBytes: 2e9, totalBytes: 1e11 } }, "warning", "only 2.0 GB"],
  ["disk", { disk: undefined }, "warning", "not known"],
  ["server", { server: { isRunning: false, health: undefined } }, "warning", "not running on this data folder"],
  ["server", { server: { isRunning: true, health: 503 } }, "problem", "answers 503"],
  ["ports", { takenPorts: [8099], server: { isRunning: false, health: undefined } }, "problem", "another program uses 8099"],
  ["certificate", { certificateEnds: now - day }, "problem", "has ended"],
  ["certificate", { certificateEnds: now + 3 * day }, "warning", "ends in 3 days"],
  ["clock", { clockOffMs: 60_000 }, "problem", "by 60 s"],
  ["registries", { registries: [{ url: "r.test", failure: "answers 500" }] }, "warning", "r.test: answers 500"],
  ["database", { database: { url: "db:5432", failure: "refused" } }, "problem", "db:5432: refused"],
  ["API", { api: { url: "http://a", failure: "the key is wrong" } }, "problem", "the key is wrong"],
  ["cluster", { cluster: { name: "k", failure: "no answer", missingRights: [] } }, "problem", "k: no answer"],
  ["cluster", { cluster: { name: "k", failure: undefined, missingRights: ["list pods"] } }, "problem", "no right to list pods"],
])("%s: %j is a %s that says what fixes it", (check, probed, verdict, text) => {
  const found = diagnose({ ...well, ...probed }, now, false).find((one) => one.check === check);
  expect(found).toMatchObject({ verdict, message: expect.stringContaining(text), fix: expect.stringMatching(/./) });
});

test("what is there and good is told so", () => {
  const probed: Probed = {
    ...well,
    certificateEnds: now + 100 * day,
    registries: [{ url: "r.test", failure: undefined }],
    database: { url: "db:5432", failure: undefined },
    api: { url: "http://a", failure: undefined },
    cluster: { name: "k", failure: undefined, missingRights: [] },
  };
  expect(diagnose(probed, now, false).filter(({ verdict }) => verdict !== "ok")).toEqual([]);
});

test("of a remote server only the way there is checked", () => {
  expect(diagnose({ ...well, kernel: "4.4" }, now, true).map(({ check }) => check)).toEqual(["clock", "API", "cluster"]);
});
