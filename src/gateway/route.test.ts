import { expect, test } from "vitest";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { routeOf } from "./route.ts";

function aPod(name: string, over: { readonly deleted?: boolean; readonly phase?: string; readonly ip?: string } = {}): Pod {
  const { deleted = false, phase = "running", ip = "10.0.0.1" } = over;
  return {
    metadata: {
      name,
      labels: { [labelKeys.sandboxId]: "abc", [labelKeys.sandboxPhase]: phase },
      annotations: { [annotationKeys.sandboxId]: "abc" },
      ...(deleted ? { deletionTimestamp: "2026-01-01T00:00:00Z" } : {}),
    },
    spec: { containers: [{ name: "main", image: "host" }] },
    status: { phase: "Running", podIP: ip },
  };
}

const routeAmong = (...pods: readonly Pod[]) => routeOf({ podsOfSandbox: () => pods.values() }, "abc");

test("a pod that is being deleted is no way to its sandbox any more, though it still runs", () => {
  expect(routeAmong(aPod("going", { deleted: true }))).toEqual({ kind: "unknown" });
});

test("where another pod carries the sandbox on, that one is the way, whichever comes first", () => {
  const [going, staying] = [aPod("going", { deleted: true, ip: "10.0.0.1" }), aPod("staying", { ip: "10.0.0.2" })];
  expect(routeAmong(going, staying)).toMatchObject({ kind: "open", ip: "10.0.0.2" });
  expect(routeAmong(staying, going)).toMatchObject({ kind: "open", ip: "10.0.0.2" });
});

test("a pod that has been released is no way either", () => {
  for (const phase of ["stopping", "idle", "failed"]) expect(routeAmong(aPod("released", { phase }))).toEqual({ kind: "unknown" });
});

test("a claimed pod without an address is starting", () => {
  expect(routeAmong(aPod("new", { ip: "", phase: "starting" }))).toMatchObject({ kind: "starting" });
});
