import { EventEmitter } from "node:events";
import type { FastifyReply } from "fastify";
import { expect, test } from "vitest";
import type { Caller } from "#services/caller.ts";
import { SteppedClock } from "../../../test/world/stepped-clock.ts";
import { TeamGate } from "./team-gate.ts";

const caller = (team: string, keyId: string): Caller => ({ role: team === "" ? "admin" : "tenant", team, keyId });
const request = (): Pick<FastifyReply, "raw"> => ({ raw: new EventEmitter() as FastifyReply["raw"] });

function gate(limits: Readonly<Record<string, number>>, clock = new SteppedClock()): TeamGate {
  return new TeamGate({ limits: { ofTeam: (_, name) => limits[name] }, clock });
}

test("a team's rate limit covers all its keys together, however many it creates", async () => {
  const clock = new SteppedClock();
  const teams = gate({ requestsPerSecond: 2 }, clock);
  for (const key of ["a", "b", "c", "d"]) teams.enter(caller("red", key), request());
  expect(() => teams.enter(caller("red", "e"), request())).toThrow(expect.objectContaining({ code: "rate_limited" }));
  teams.enter(caller("blue", "x"), request());
  for (let more = 0; more < 10; more++) teams.enter(caller("", "admin"), request());
  await clock.step(500);
  teams.enter(caller("red", "e"), request());
});

test("requests under way are counted by team until their answers end", () => {
  const teams = gate({ connections: 2 });
  const open = [request(), request()];
  for (const one of open) teams.enter(caller("red", "a"), one);
  expect(() => teams.enter(caller("red", "b"), request())).toThrow(
    expect.objectContaining({
      code: "limit_reached",
      details: expect.objectContaining({ limit: { name: "connections", of: "team", team: "red", limit: 2, used: 2 } }),
    }),
  );
  teams.enter(caller("blue", "x"), request());
  // The end of an answer may be reported twice.
  open[0]?.raw.emit("finish");
  open[0]?.raw.emit("close");
  teams.enter(caller("red", "b"), request());
  expect(() => teams.enter(caller("red", "b"), request())).toThrow(/limit connections/);
});
