import { expect, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { admin, ann, eve, redTeam } from "../../../test/world/service-scene.ts";
import type { CreatedSandbox } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { CreateLog } from "./create-log.ts";

const options = { signal: new AbortController().signal, wait: true };

test("a caller is told of its own creates only: how many, how long, and why some failed", async () => {
  const clock = new SteppedClock();
  const log = new CreateLog(clock);
  const create = log.over(async (caller) => {
    await clock.step(caller.user === "ann" ? 100 : 300);
    if (caller.user === "eve") throw new ServiceError("no_capacity", "none is free");
    return {} as CreatedSandbox;
  });
  await create(ann, { from: "py" }, options);
  await create(redTeam, { from: "py" }, options);
  await create(eve, { from: "py" }, options).catch(() => {});
  log.miss("red");
  expect(log.report(ann, 600)).toMatchObject({ created: 1, failed: 0, p50Ms: 100 });
  expect(log.report(ann, 600)).not.toHaveProperty("missed");
  expect(log.report(redTeam, 600)).toMatchObject({ created: 2, failed: 0, missed: 1, p50Ms: 100, p99Ms: 300 });
  expect(log.report(eve, 600)).toMatchObject({ created: 0, failed: 1, failures: [{ code: "no_capacity", count: 1 }] });
  expect(log.report(admin, 600)).toMatchObject({ created: 2, failed: 1 });
});

test("what is older than the span does not count", async () => {
  const clock = new SteppedClock();
  const log = new CreateLog(clock);
  await log.over(async () => ({}) as CreatedSandbox)(ann, { from: "py" }, options);
  await clock.step(61_000);
  expect(log.report(ann, 60)).toMatchObject({ created: 0 });
  const { parts, created } = log.report(ann, 120);
  expect([created, parts.length, parts.reduce((sum, part) => sum + part.created, 0)]).toEqual([1, 60, 1]);
});
