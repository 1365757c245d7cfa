import { expect, test } from "vitest";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { WarmConnections } from "./warm-connections.ts";

/** A server with the connections that are needed for what was asked at once; with `isUp` false it does not answer. */
function scene(count: number, seen?: () => number) {
  const clock = new SteppedClock();
  const server = { open: 0, atOnce: 0, tries: 0, rounds: [] as number[], isUp: true };
  const ask = async (): Promise<void> => {
    server.tries += 1;
    if (!server.isUp) throw new Error("nobody answers");
    server.atOnce += 1;
    server.open = Math.max(server.open, server.atOnce);
    await Promise.resolve();
    if (server.atOnce > 0) server.rounds.push(server.atOnce);
    server.atOnce = 0;
  };
  const open = seen ?? (() => server.open);
  const connections = new WarmConnections({ clock, open, ask }, { count, idleMs: 60_000 });
  return { clock, server, connections };
}

test("connections are opened one after another, up to as many as are wanted", async () => {
  const { clock, server } = scene(3);
  await clock.step(400);
  expect(server.rounds).toEqual([]);
  await clock.step(1_700);
  expect([server.rounds, server.open]).toEqual([[1, 2, 3, 3], 3]);
});

test("all of them are spoken to before they have been idle for too long", async () => {
  const { clock, server } = scene(3);
  await clock.step(2_100);
  await clock.step(59_000);
  expect(server.rounds).toEqual([1, 2, 3, 3, 3]);
});

test("those that a server has closed are opened again; one that is not there is asked seldom", async () => {
  const { clock, server } = scene(2);
  await clock.step(1_600);
  expect(server.rounds).toEqual([1, 2, 2]);
  server.open = 0;
  server.isUp = false;
  await clock.step(300_000);
  expect(server.tries - 5).toBeLessThanOrEqual(10);
  server.isUp = true;
  await clock.step(31_000);
  expect(server.open).toBe(2);
});

test("where connections do not grow in number, as behind a proxy, one is asked for as seldom as it has to be", async () => {
  const { clock, server } = scene(3, () => 0);
  await clock.step(90_600);
  expect(server.rounds).toEqual([1, 1, 1, 1]);
});

test("nothing is asked any more once they are closed", async () => {
  const { clock, server, connections } = scene(2);
  await clock.step(600);
  connections.close();
  await clock.step(600_000);
  expect([server.rounds, clock.pending]).toEqual([[1], 0]);
});
