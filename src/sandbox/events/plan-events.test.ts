import { expect, test } from "vitest";
import { annotationKeys, labelKeys, podConditions } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import type { SandboxEvent } from "#model/sandbox-event.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import { aPoolPod } from "../../../test/world/pool-pods.ts";
import { after, endOf, eventsOf, nothingTold, toldBy, type Told } from "./plan-events.ts";

const now = Date.parse("2026-01-01T01:00:00.000Z");
const startedAt = "2026-01-01T00:00:01.000Z";

function pod(annotations: Record<string, string> = {}, { phase = "running", isFrozen = false } = {}): Pod {
  return aPoolPod({
    metadata: {
      labels: { [labelKeys.sandboxId]: "abc", [labelKeys.sandboxPhase]: phase, [labelKeys.team]: "red" },
      annotations: { [annotationKeys.sandboxId]: "abc", [annotationKeys.startedAt]: startedAt, ...annotations },
    },
    status: { conditions: isFrozen ? [{ type: podConditions.paused, status: "True" }] : [] },
  });
}

/** What a recorder that looks at these states one after the other tells. */
function story(states: readonly Pod[], from: Told = nothingTold): readonly SandboxEvent[] {
  let told = from;
  return states.flatMap((state) => {
    const events = eventsOf(told, state, now);
    told = events.reduce(after, told);
    return events;
  });
}

const typesOf = (events: readonly SandboxEvent[]): readonly string[] => events.map(({ type }) => type);

const [end1, end2] = ["2026-01-01T02:00:00.000Z", "2026-01-01T03:00:00.000Z"];
const wish = "2026-01-01T00:10:00.000Z";
const life = [
  pod({ [annotationKeys.endTime]: end1 }),
  pod({ [annotationKeys.endTime]: end1, [annotationKeys.lastActive]: wish }),
  pod({ [annotationKeys.endTime]: end2 }),
  pod({ [annotationKeys.endTime]: end2, [annotationKeys.paused]: wish }),
  pod({ [annotationKeys.endTime]: end2, [annotationKeys.paused]: wish }, { isFrozen: true }),
  pod({ [annotationKeys.endTime]: end1 }, { isFrozen: true }),
  pod({ [annotationKeys.endTime]: end1 }),
  pod({ [annotationKeys.endTime]: end1, [annotationKeys.failureReason]: "IdleTimeout" }, { phase: "stopping" }),
];

test("a life is told once, in its order, whatever else of the pod changes", () => {
  const events = story(life);
  expect(typesOf(events)).toEqual(["created", "updated", "paused", "resumed", "killed"]);
  expect(events[0]).toMatchObject({ at: startedAt, team: "red", data: { set_timeout: end1 } });
  expect(events[1]).toMatchObject({ data: { set_timeout: end2 } });
  expect(events[2]).toMatchObject({ at: wish });
  expect(events[4]).toMatchObject({ data: { kill_reason: "IdleTimeout" } });
  expect(new Set(events.map(({ id }) => id)).size).toBe(5);
});

test("a process that takes over at any state tells the same events under the same ids", () => {
  const whole = story(life);
  for (let at = 0; at <= life.length; at++) {
    const before = story(life.slice(0, at));
    const later = story(life.slice(at), toldBy(before.toReversed()));
    expect([...before, ...later].map(({ id }) => id)).toEqual(whole.map(({ id }) => id));
  }
});

test("one that looks again tells nothing new", () => {
  const told = toldBy(story(life.slice(0, 5)).toReversed());
  expect(eventsOf(told, life[4] ?? pod(), now)).toEqual([]);
});

test("a sandbox that never ran is never told of", () => {
  const { [annotationKeys.startedAt]: _, ...annotations } = pod().metadata.annotations ?? {};
  const starting = (phase: string): Pod => {
    const one = pod({}, { phase });
    return { ...one, metadata: { ...one.metadata, annotations } };
  };
  expect(story([starting("starting"), starting("stopping")])).toEqual([]);
});

test("the end of one that is gone is told by its record, once, and only if its beginning was", () => {
  const record = { sandboxId: "abc", team: "red", user: "", poolName: "p", terminatedAt: end1, stopReason: "Released" } as SandboxRecord;
  const told = toldBy(story(life.slice(0, 1)));
  const [killed] = endOf(told, record, now);
  expect(killed).toMatchObject({ type: "killed", at: end1, data: { kill_reason: "request", stop_reason: "Released" } });
  expect(killed?.id).toBe(story(life).at(-1)?.id);
  expect(endOf({ ...told, isKilled: true }, record, now)).toEqual([]);
  expect(endOf(nothingTold, record, now)).toEqual([]);
});
