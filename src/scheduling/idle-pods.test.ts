import { describe, expect, test } from "vitest";
import { annotationKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { aContainerStatus, aPoolPod, digestOf, pinned, type PoolPodShape } from "../../test/world/pool-pods.ts";
import { IdlePods, type Reservation, type WantedPool } from "./idle-pods.ts";

const py = { namespace: "ns", name: "py" };
const go = { namespace: "ns", name: "go" };

function aPod(name: string, shape: PoolPodShape & { readonly version?: number; readonly node?: string; readonly pool?: string } = {}): Pod {
  const { version = 1, node = "n1", pool = "py", ...more } = shape;
  return aPoolPod({
    labels: { "agentbox.navix.sh/sandbox-pool": pool },
    ...more,
    metadata: { name, uid: `uid-${name}`, resourceVersion: String(version), ...more.metadata },
    spec: { nodeName: node, ...more.spec },
  });
}

function shown(...pods: readonly Pod[]): IdlePods {
  const idle = new IdlePods();
  for (const pod of pods) idle.observe(pod, undefined);
  return idle;
}

const wanting = (image: string, pool = py): WantedPool[] => [{ pool, digest: digestOf(image) }];

function picked(idle: IdlePods, wanted: readonly WantedPool[] = [{ pool: py }]): string | undefined {
  return idle.reserve(wanted)?.pod.metadata.name;
}

describe("W4: a pod is not offered", () => {
  test.for<[string, PoolPodShape]>([
    ["that is not ready", { ready: false }],
    ["that is being deleted", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }],
    ["that is somebody's", { phase: "running", id: "i1" }],
    ["that has not come up", { status: { phase: "Pending" } }],
    ["without an address", { status: { podIP: "" } }],
    ["that still runs what its last user left", { use: 1 }],
  ])("%s", ([, shape]) => {
    const idle = shown(aPod("a", shape));
    expect([picked(idle), idle.free(py)]).toEqual([undefined, 0]);
  });

  test("to two at once", () => {
    const idle = shown(aPod("a"));
    expect([picked(idle), picked(idle), idle.reserved(py)]).toEqual(["a", undefined, 1]);
  });
});

describe("of several free pods the one is given", () => {
  test("that waits on the wanted image, whatever else", () => {
    const marked = { [annotationKeys.chosenToGo]: "2026-01-01T00:00:00Z" };
    const idle = shown(aPod("fits", { images: { main: "app" }, annotations: marked }), aPod("new"));
    expect([picked(idle, wanting("app")), picked(idle, wanting("app"))]).toEqual(["fits", "new"]);
  });

  test("whose node has the image, else", () => {
    const ran = { containerStatuses: [aContainerStatus("main", pinned("app"))] };
    const idle = shown(aPod("there", { node: "n2" }), aPod("elsewhere"));
    idle.observe(aPod("used", { phase: "running", id: "i1", node: "n2", status: ran }), undefined);
    expect(picked(idle, wanting("app"))).toBe("there");
  });

  test("W16: that is not chosen for scale-down, else; and one that is, when there is no other", () => {
    const marked = { [annotationKeys.chosenToGo]: "2026-01-01T00:00:00Z" };
    const idle = shown(aPod("free"), aPod("chosen", { annotations: marked }));
    expect([picked(idle), picked(idle), picked(idle)]).toEqual(["free", "chosen", undefined]);
  });

  test("W19: that became idle last, so that the longest idle are left for scale-down", () => {
    const idle = shown(aPod("old"), aPod("young"));
    idle.observe(aPod("old", { version: 2 }), aPod("old"));
    expect([picked(idle), picked(idle)]).toEqual(["young", "old"]);
  });

  test("of the best pool that has any", () => {
    const idle = shown(aPod("second", { pool: "go" }));
    expect(picked(idle, [{ pool: py }, { pool: go }])).toBe("second");
    idle.observe(aPod("first"), undefined);
    idle.observe(aPod("third", { pool: "go" }), undefined);
    expect(picked(idle, [{ pool: py }, { pool: go }])).toBe("first");
  });
});

describe("a reserved pod", () => {
  const reserve = (idle: IdlePods): Reservation => {
    const reservation = idle.reserve([{ pool: py }]);
    if (reservation === undefined) throw new Error("no pod is free");
    return reservation;
  };

  test("that is given back is offered again, once", () => {
    const idle = shown(aPod("a"));
    const first = reserve(idle);
    first.cancel();
    const second = reserve(idle);
    first.cancel();
    first.outdated();
    expect([idle.free(py), idle.reserved(py)]).toEqual([0, 1]);
    second.cancel();
    expect([idle.free(py), idle.reserved(py)]).toEqual([1, 0]);
  });

  test("that was found changed is offered again when the change is seen, and tells so", () => {
    const idle = shown(aPod("a"));
    reserve(idle).outdated();
    expect([idle.free(py), idle.reserved(py)]).toEqual([0, 0]);
    expect(idle.observe(aPod("a", { version: 2 }), aPod("a"))).toEqual(py);
    expect(reserve(idle).pod.metadata.resourceVersion).toBe("2");
  });

  test("whose change was seen before it was found is offered at once", () => {
    const idle = shown(aPod("a"));
    const reservation = reserve(idle);
    expect(idle.observe(aPod("a", { version: 2 }), aPod("a"))).toBeUndefined();
    reservation.outdated();
    expect(idle.free(py)).toBe(1);
  });

  test("that became somebody's is forgotten, with its reservation", () => {
    const idle = shown(aPod("a"));
    const reservation = reserve(idle);
    idle.observe(aPod("a", { phase: "running", id: "i1", version: 2 }), aPod("a"));
    reservation.cancel();
    expect([idle.free(py), idle.reserved(py), idle.pools]).toEqual([0, 0, 0]);
  });
});

test("W12: of a pool whose pods are gone nothing is remembered", () => {
  const idle = shown(aPod("a"), aPod("b"));
  for (const name of ["a", "b"]) idle.observe(undefined, aPod(name));
  expect(idle.pools).toBe(0);
});
