import { describe, expect, test } from "vitest";
import { ConfigMaps, Events, Leases, Namespaces, Secrets } from "#model/core-kinds.ts";
import { Checkpoints } from "#model/checkpoint.ts";
import type { ApiObject } from "#model/meta.ts";
import { Pods } from "#model/pod.ts";
import type { ResourceType } from "#model/resource.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { columnsOf, printerColumn } from "./columns.ts";

const now = Date.UTC(2026, 0, 2);
const metadata = { name: "x", namespace: "a", creationTimestamp: "2026-01-01T23:58:00Z" };

function row(type: ResourceType, object: object, wide = false): Record<string, unknown> {
  const shown = columnsOf(type).filter((column) => wide || column.wide !== true);
  return Object.fromEntries(shown.map((column) => [column.name, column.cell({ metadata, ...object }, now)]));
}

describe("the columns of", () => {
  test("our kinds are their printer columns", () => {
    expect(row(SandboxPools, { spec: { replicas: 2 }, status: { phase: "Scaling", idleReplicas: 0 } })).toEqual({
      Name: "x",
      Phase: "Scaling",
      Desired: 2,
      Idle: 0,
      Running: undefined,
      Starting: undefined,
      Stopping: undefined,
      Failed: undefined,
      Age: "2m",
    });
  });

  test("a checkpoint show the user's label", () => {
    const labels = { "scheduling.navix.sh/user": "ada" };
    expect(row(Checkpoints, { metadata: { ...metadata, labels }, spec: { sandboxID: "s" } })).toMatchObject({ User: "ada", Sandbox: "s" });
  });

  test("Kubernetes' kinds are those of its API server", () => {
    expect(row(Namespaces, { status: { phase: "Active" } })).toEqual({ Name: "x", Status: "Active", Age: "2m" });
    expect(row(Secrets, { type: "Opaque", data: { a: "", b: "" } })).toEqual({ Name: "x", Type: "Opaque", Data: 2, Age: "2m" });
    expect(row(ConfigMaps, { data: { a: "" }, binaryData: { b: "" } })).toEqual({ Name: "x", Data: 2, Age: "2m" });
    expect(row(ConfigMaps, {})).toMatchObject({ Data: 0 });
    expect(row(Leases, { spec: { holderIdentity: "me" } })).toEqual({ Name: "x", Holder: "me", Age: "2m" });
    expect(Object.keys(row(Pods, { spec: { containers: [] } }))).toEqual(["Name", "Ready", "Status", "Restarts", "Age"]);
  });

  test("an unknown kind are name and age", () => {
    expect(row({ ...ConfigMaps, plural: "gadgets" }, {})).toEqual({ Name: "x", Age: "2m" });
  });

  test("an event tell when, what and about which object", () => {
    const event = {
      involvedObject: { kind: "Pod", name: "web", fieldPath: "spec.containers{a}" },
      reason: "Killed",
      type: "Warning",
      message: " out of memory \n",
      firstTimestamp: "2026-01-01T23:00:00Z",
      lastTimestamp: "2026-01-01T23:59:30Z",
      count: 3,
      source: { component: "kubelet", host: "node-1" },
    };
    expect(row(Events, event, true)).toEqual({
      "Last Seen": "30s",
      Type: "Warning",
      Reason: "Killed",
      Object: "pod/web",
      Subobject: "spec.containers{a}",
      Source: "kubelet, node-1",
      Message: "out of memory",
      "First Seen": "60m",
      Count: 3,
      Name: "x",
    });
  });

  test("an event of the newer API fill in what it lacks", () => {
    const event = {
      involvedObject: { kind: "Node" },
      eventTime: "2026-01-01T23:59:30.000000Z",
      lastTimestamp: null,
      reportingComponent: "node",
    };
    expect(row(Events, event, true)).toMatchObject({ "Last Seen": "30s", "First Seen": "30s", Object: "node", Source: "node", Count: 1 });
    expect(row(Events, { involvedObject: {} })).toMatchObject({ "Last Seen": "<unknown>" });
  });
});

describe("a printer column", () => {
  const cell = (type: Parameters<typeof printerColumn>[0]["type"], value: unknown): unknown =>
    printerColumn({ name: "C", type, jsonPath: ".v" }).cell({ metadata: {}, v: value } as ApiObject, now);

  test.each([
    ["string", "text", "text"],
    ["string", 3, "3"],
    ["string", { b: 1, a: [2] }, '{"a":[2],"b":1}'],
    ["integer", 3, 3],
    ["integer", 3.9, 3],
    ["integer", "3", undefined],
    ["number", 3.5, 3.5],
    ["boolean", false, false],
    ["boolean", "false", undefined],
    ["date", "2026-01-01T23:59:55Z", "5s"],
    ["date", "soon", "<invalid>"],
    ["date", 5, undefined],
    ["string", null, undefined],
  ] as const)("of type %s shows %j as %j", (type, value, shown) => {
    expect(cell(type, value)).toEqual(shown);
  });

  test("with a priority is for wide output only", () => {
    expect(printerColumn({ name: "C", type: "string", jsonPath: ".v", priority: 1 }).wide).toBe(true);
    expect(printerColumn({ name: "C", type: "string", jsonPath: ".v" }).wide).toBe(false);
  });
});
