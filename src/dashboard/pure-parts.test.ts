import { expect, test } from "vitest";
import type { Sandbox } from "#client/sandbox-types.ts";
import { bestMatches } from "./best-matches.ts";
import { agoText, bytesText, spanText } from "./format.ts";
import { filterSandboxes } from "./pages/filter-sandboxes.ts";
import { boundsEffect, changedPolicy } from "./pages/group-bounds.ts";
import { historyQuery } from "./pages/history-query.ts";
import { curlSnippet } from "./pages/playground-code.ts";
import { visibleRows } from "./parts/visible-rows.ts";
import { fileKindOf } from "./sandbox/file-kind.ts";
import { listeningPorts } from "./sandbox/listening-ports.ts";
import { plainLine } from "./sandbox/log-text.ts";
import { foldersTo, joined, parentOf } from "./sandbox/paths.ts";
import { parseProcesses } from "./sandbox/process-list.ts";
import { timelineOf } from "./sandbox/timeline.ts";

const now = Date.UTC(2026, 0, 1, 12);
const at = (seconds: number): string => new Date(now + seconds * 1000).toISOString();
const base = { sandboxId: "abc", poolName: "py", team: "red", user: "ann", metadata: { ticket: "42" }, podName: "py-1", status: "Running" };
const aSandbox = (more: object): Sandbox => ({ ...base, claimedAt: at(0), containerImages: {}, namespace: "default", ...more }) as Sandbox;

test("spans have their two largest units", () => {
  expect([spanText(250), spanText(12_000), spanText(7_500_000), spanText(90_000_000)]).toEqual(["250 ms", "12 s", "2 h 5 min", "1 d 1 h"]);
  expect([agoText(at(-5), now), agoText(at(5), now), agoText(at(0), now)]).toEqual(["5 s ago", "in 5 s", "now"]);
  expect([bytesText(10), bytesText(1536), bytesText(5 * 1024 ** 3)]).toEqual(["10 B", "1.5 KiB", "5 GiB"]);
});

test("every word of a search must be somewhere in the sandbox", () => {
  const all = [aSandbox({}), aSandbox({ sandboxId: "def", poolName: "node", metadata: {} })];
  const ids = (text: string, more = {}): string[] =>
    filterSandboxes(all, { text, status: "", pool: "", ...more }).map(({ sandboxId }) => sandboxId);
  expect([ids(""), ids("ticket=42"), ids("red node"), ids("red", { pool: "py" }), ids("", { status: "Paused" })]).toEqual([
    ["abc", "def"],
    ["abc"],
    ["def"],
    ["abc"],
    [],
  ]);
});

test("of a long list only the rows around the screen exist", () => {
  expect(visibleRows(5000, 44, { top: 44 * 1000, height: 440 })).toEqual({ first: 992, end: 1018 });
  expect(visibleRows(3, 44, { top: 9999, height: 440 })).toEqual({ first: 3, end: 3 });
});

test("a timeline goes from the claim to the end, and tells why it ended", () => {
  const ended = aSandbox({ status: "Failed", startedAt: at(1), terminatedAt: at(60), failureReason: "OOMKilled", exitCode: 137 });
  expect(timelineOf(ended).map(({ name, about, tone }) => [name, about, tone])).toEqual([
    ["Claimed", "pod py-1 of pool py", "plain"],
    ["Running", "1 s after the claim", "good"],
    ["Ended: Failed", "OOMKilled; exit code 137; lived for 1 min", "bad"],
  ]);
  const released = aSandbox({ status: "Released", startedAt: at(1), terminatedAt: at(60), failureReason: "IdleTimeout" });
  expect(timelineOf(released).at(-1), "a timeout is no failure").toMatchObject({ name: "Ended: Released", tone: "plain" });
  expect(timelineOf(aSandbox({ endTime: at(600) })).at(-1)).toMatchObject({ name: "Ends", tone: "later" });
});

test("ports are those that something listens on, also on the loopback only", () => {
  const head = "  sl  local_address rem_address   st\n";
  const table = `${head}   0: 0100007F:1F90 00000000:0000 0A\n   1: 00000000:0050 00000000:0000 0A\n   2: 0100007F:1F91 0100007F:1F90 01\n`;
  expect(listeningPorts(table)).toEqual([
    { port: 80, isLocal: false },
    { port: 8080, isLocal: true },
  ]);
});

test("processes are read line by line, in the order of their ids", () => {
  expect(parseProcesses("20\tS\t100\t1000\tsleep 5\n1\tS\t0\t0\t[init]\nbroken\n")).toEqual([
    { pid: 1, state: "S", user: "0", memoryBytes: 0, command: "[init]" },
    { pid: 20, state: "S", user: "1000", memoryBytes: 102_400, command: "sleep 5" },
  ]);
});

test("log lines lose the codes of terminals and keep everything else", () => {
  expect(plainLine("\u001B[1;31mred\u001B[0m\ttab <b>bold</b>\u0007")).toBe("red\ttab <b>bold</b>");
});

test("paths are joined and taken apart as a shell does it", () => {
  expect([parentOf("/a/b"), parentOf("/a"), joined("/", "x"), joined("/a", "/etc/x")]).toEqual(["/a", "/", "/x", "/etc/x"]);
  expect(foldersTo("/a/b").map(({ path }) => path)).toEqual(["/", "/a", "/a/b"]);
});

test("a file is text only if all of it is", () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  expect([
    fileKindOf("a.txt", bytes("hé")),
    fileKindOf("a.bin", Uint8Array.of(255, 0)),
    fileKindOf("a.PNG", bytes("")),
    fileKindOf("a.svg", bytes("<svg>")),
  ]).toEqual(["text", "bytes", "picture", "text"]);
});

test("new bounds keep the rest of a policy, and what they mean is said before", () => {
  const policy = { name: "default", maxReplicas: 9, scaleUpPolicy: { mode: "Demand" } } as const;
  expect(changedPolicy(policy, { enabled: true, min: 1, max: undefined })).toEqual({
    enabled: true,
    minReplicas: 1,
    scaleUpPolicy: { mode: "Demand" },
  });
  const group = { desired: 5, running: 3 };
  expect(boundsEffect(group, { enabled: true, min: 8, max: 10 })).toBe("It grows from 5 to 8 pods now.");
  expect(boundsEffect(group, { enabled: true, min: 0, max: 2 })).toContain("none is ended");
});

test("the history is asked for ended sandboxes only", () => {
  const query = historyQuery(new URLSearchParams("q=ticket=42&pool=py&within=24"), now);
  expect(query).toMatchObject({ metadata: ["ticket=42"], poolName: "py", endedAfter: "2025-12-31T12:00:00.000Z" });
  expect(query.status).not.toContain("Running");
  expect(historyQuery(new URLSearchParams("q=abc"), now)).toMatchObject({ idPrefix: "abc" });
});

test("names that begin with what is typed come first", () => {
  const choices = ["my-base", "base", "b-a-s-e"].map((name) => ({ name, about: "pool" }));
  expect(bestMatches(choices, "base", 5).map(({ name }) => name)).toEqual(["base", "my-base", "b-a-s-e"]);
});

test("code with quotes reaches the shell of the curl example as it is", () => {
  const text = curlSnippet({ language: "python", code: "print('it\"s')", from: "base", url: "http://h", domain: "d" });
  expect(text).toContain(`"stdin":"print('\\''it\\"s'\\'')"`);
});
