import { expect, test } from "vitest";
import { admin, ann, eve, redTeam, ServiceScene } from "../../../test/world/service-scene.ts";
import { settle } from "../../../test/world/stepped-clock.ts";
import type { Caller } from "#services/caller.ts";
import { labelKeys } from "#model/keys.ts";
import { ChangeFeed, type FeedItem } from "./change-feed.ts";

/** Reads on in the background. */
function reading(scene: ServiceScene, feed: ChangeFeed, { by = ann, seen }: { readonly by?: Caller; readonly seen?: string } = {}) {
  const stop = new AbortController();
  const items: FeedItem[] = [];
  const done = (async () => {
    for await (const some of feed.read(by, seen, stop.signal)) items.push(...some);
  })();
  const shown = () => items.map((item) => (item.kind === "start" ? "start" : describe(item)));
  const end = async (): Promise<void> => {
    stop.abort();
    await done;
  };
  return { items, shown, end, turn: () => scene.clock.step(200).then(settle) };
}

function describe({ change }: Extract<FeedItem, { kind: "change" }>): string {
  if (change.kind === "sandbox") return `${change.sandbox.sandboxId} ${change.sandbox.status}`;
  return change.kind === "sandbox-ended" ? `${change.sandboxId} ended` : change.kind;
}

test("a new reader is told to list, and then of each change of what is its own", async () => {
  await using scene = await ServiceScene.open();
  using feed = new ChangeFeed(scene);
  const reader = reading(scene, feed);
  await settle();
  await scene.sandbox("i-1", { phase: "starting" });
  await scene.sandbox("i-2", { team: "blue", user: "eve" });
  await reader.turn();
  await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "running" } });
  await reader.turn();
  expect(reader.shown()).toEqual(["start", "i-1 Starting", "i-1 Running"]);
  await reader.end();
});

test("callers see of sandboxes what their lists show: a user's own, a team's all, an admin everything", async () => {
  await using scene = await ServiceScene.open();
  using feed = new ChangeFeed(scene);
  const readers = [ann, redTeam, eve, admin].map((by) => reading(scene, feed, { by }));
  await settle();
  await scene.sandbox("i-1");
  await scene.sandbox("i-2", { user: "bob" });
  await scene.clock.step(200);
  await settle();
  expect(readers.map((reader) => reader.shown().slice(1))).toEqual([
    ["i-1 Running"],
    ["i-1 Running", "i-2 Running"],
    [],
    ["i-1 Running", "i-2 Running"],
  ]);
  for (const reader of readers) await reader.end();
});

test("of several states within a moment a reader gets the last, and changes that are not shown are none", async () => {
  await using scene = await ServiceScene.open();
  using feed = new ChangeFeed(scene);
  const reader = reading(scene, feed);
  await settle();
  await scene.sandbox("i-1", { phase: "starting" });
  await scene.change("i-1", { labels: { [labelKeys.sandboxPhase]: "running" } });
  await reader.turn();
  await scene.change("i-1", { annotations: { "example.com/none": "of our business" } });
  await reader.turn();
  expect(reader.shown()).toEqual(["start", "i-1 Running"]);
  await reader.end();
});

test("a reader that comes back goes on after what it saw", async () => {
  await using scene = await ServiceScene.open();
  using feed = new ChangeFeed(scene);
  const first = reading(scene, feed);
  await settle();
  await scene.sandbox("i-1");
  await first.turn();
  await first.end();
  await scene.sandbox("i-2");
  const again = reading(scene, feed, { seen: first.items.at(-1)?.id ?? "" });
  await again.turn();
  expect(again.shown()).toEqual(["i-2 Running"]);
  await again.end();
});

test("a reader from before a restart, or one that has fallen behind, is told to list again", async () => {
  await using scene = await ServiceScene.open();
  using before = new ChangeFeed(scene);
  using feed = new ChangeFeed({ cache: scene.cache, clock: scene.clock, size: 2 });
  const old = reading(scene, before);
  const slow = reading(scene, feed);
  await settle();
  const seen = slow.items.at(-1)?.id ?? "";
  await slow.end();
  for (let n = 0; n < 8; n++) await scene.sandbox(`i-${n}`);
  const [fromOther, fromBehind] = [old.items.at(-1)?.id ?? "", seen].map((id) => reading(scene, feed, { seen: id }));
  await fromBehind?.turn();
  expect([fromOther?.shown()[0], fromBehind?.shown()[0]]).toEqual(["start", "start"]);
  for (const reader of [old, fromOther, fromBehind]) await reader?.end();
});

test("all readers get the same change, so that it is written for the wire once", async () => {
  await using scene = await ServiceScene.open();
  using feed = new ChangeFeed(scene);
  const [one, two] = [reading(scene, feed), reading(scene, feed, { by: admin })];
  await settle();
  await scene.sandbox("i-1");
  await one.turn();
  const changes = [one, two].map(({ items }) => items.flatMap((item) => (item.kind === "change" ? [item.change] : []))[0]);
  expect(changes[0]).toBeDefined();
  expect(changes[0]).toBe(changes[1]);
  await Promise.all([one.end(), two.end()]);
});
