import { expect, test } from "vitest";
import type { SandboxEvent } from "#model/sandbox-event.ts";
import { giveUpMs, planDelivery, type Tried } from "./plan-delivery.ts";

const at = Date.parse("2026-01-01T00:00:00.000Z");
const delivery = { attempts: 3, event: { at: new Date(at).toISOString() } as SandboxEvent };
const plan = (more: Partial<Tried>) =>
  planDelivery({
    delivery,
    outcome: undefined,
    nowMs: at + 1000,
    backoff: (failures) => failures * 100,
    ...more,
  });
const refused = { kind: "refused", why: "it answered 500" } as const;

test("what was taken is done", () => {
  expect(plan({ outcome: { kind: "accepted" } })).toEqual({ kind: "done", result: "delivered" });
});

test("what was refused comes again later each time", () => {
  expect(plan({ outcome: refused })).toEqual({
    kind: "again",
    failure: { attempts: 4, dueMs: at + 1400, error: "it answered 500", isDead: false },
    result: "failed",
  });
});

test("what was refused for three days is given up, and not before", () => {
  expect(plan({ outcome: refused, nowMs: at + giveUpMs - 1 })).toMatchObject({ failure: { isDead: false } });
  expect(plan({ outcome: refused, nowMs: at + giveUpMs })).toMatchObject({ failure: { isDead: true }, result: "dead" });
});

test("a webhook that is switched off costs no attempts, and its events wait", () => {
  expect(plan({ outcome: undefined })).toMatchObject({ kind: "again", failure: { attempts: 3, isDead: false } });
});
