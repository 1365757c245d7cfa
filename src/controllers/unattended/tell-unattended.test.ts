import { readFileSync } from "node:fs";
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { recordedLog } from "../../../test/world/recorded-log.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { WatchedClient } from "../../../test/world/watched-client.ts";
import { startUnattended } from "./tell-unattended.ts";
import { claimBook } from "../../../test/world/claim-books.ts";

const example = (file: string): unknown => parse(readFileSync(new URL(`../../../deploy/examples/${file}`, import.meta.url), "utf8"));

test("a checkpoint says at once that nothing acts on it, and is written once", async () => {
  const clock = new SteppedClock();
  using store = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
  const watched = new WatchedClient(store);
  const { log } = recordedLog();
  const cache = new SandboxCache({ client: watched.client, clock, log }, { claims: claimBook() });
  const controller = startUnattended({ client: watched.client, cache, clock, log, metrics: prometheusMetrics(new Registry()) });
  await cache.run();
  const key = { namespace: "default", name: "before-upgrade" };
  await store.create(Checkpoints, example("4-checkpoint.yaml") as Checkpoint);
  await clock.step(10);
  const checkpoint = await store.get(Checkpoints, key);
  expect(checkpoint.status).toMatchObject({ phase: "Failed", message: expect.stringContaining("NotImplemented") });
  await clock.step(60_000);
  expect((await store.get(Checkpoints, key)).metadata.resourceVersion).toBe(checkpoint.metadata.resourceVersion);
  await controller.stop();
  await cache.stop();
});
