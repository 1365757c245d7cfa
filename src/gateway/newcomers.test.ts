import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { gatewayWorld, get, send, to } from "../../test/world/gateway-world.ts";
import { SteppedClock } from "../../test/world/stepped-clock.ts";
import type { ChangeHandler } from "#kube/informer/change-feed.ts";
import { annotationKeys, labelKeys } from "#model/keys.ts";
import type { Pod } from "#model/pod.ts";
import { Newcomers } from "./newcomers.ts";

class Scene {
  readonly clock = new SteppedClock();
  #handler: ChangeHandler<Pod> = () => {};
  readonly newcomers = new Newcomers({
    clock: this.clock,
    pods: {
      onChange: (handler) => {
        this.#handler = handler;
        return { synced: true, whenSynced: async () => {}, remove: () => {} };
      },
    },
  });

  shows(sandboxId: string, phase = "running"): void {
    const labels = { [labelKeys.sandboxPhase]: phase, [labelKeys.sandboxId]: sandboxId };
    this.#handler(
      { metadata: { name: "p", labels, annotations: { [annotationKeys.useCount]: "0" } }, spec: { containers: [] } },
      undefined,
    );
  }
}

test("requests that wait for a sandbox are woken when its claimed pod appears, and no others", async () => {
  const scene = new Scene();
  const [first, second, other] = ["abc", "abc", "xyz"].map((id) => scene.newcomers.appears(id));
  scene.shows("abc", "stopping");
  scene.shows("abc");
  expect(await Promise.all([first, second])).toEqual([true, true]);
  await scene.clock.step(5_000);
  expect(await other).toBe(false);
});

test("of too many that wait at once the last are told at once that it is not there", async () => {
  const scene = new Scene();
  const waiting = Array.from({ length: 1_000 }, (_, at) => scene.newcomers.appears(`id-${at}`));
  expect(await scene.newcomers.appears("one-more")).toBe(false);
  await scene.clock.step(5_000);
  expect((await Promise.all(waiting)).filter(Boolean)).toEqual([]);
  const next = scene.newcomers.appears("one-more");
  scene.shows("one-more");
  expect(await next).toBe(true);
});

test("a sandbox that comes while the history is asked is found", async () => {
  const ended = async (sandboxId: string) => {
    world.sandbox(sandboxId);
    return undefined;
  };
  const newcomers = { appears: () => expect.unreachable("no request has to wait") };
  await using world = await gatewayWorld({ newcomers, ended });
  const port = await world.program((_request, response) => response.end("here"));
  expect(await get(world, "/", to("new", port))).toEqual({ status: 200, body: "here" });
});

test("a request for a sandbox that the cache does not show yet waits for it, and one for a sandbox that has ended does not", async () => {
  const asked: string[] = [];
  const came = Promise.withResolvers<boolean>();
  const newcomers = {
    appears: (id: string) => {
      asked.push(id);
      return came.promise;
    },
  };
  const ended = async (sandboxId: string) => (sandboxId === "old" ? { sandboxId, terminatedAt: "2026-01-01T00:00:00Z" } : undefined);
  await using world = await gatewayWorld({ newcomers, ended: ended as never });
  const port = await world.program((_request, response) => response.end("here"));
  expect(await get(world, "/", to("old", port))).toMatchObject({ status: 502, body: { endedAt: "2026-01-01T00:00:00Z" } });
  world.sandbox("going", { phase: "stopping" });
  expect(await get(world, "/", to("going", port))).toMatchObject({ status: 502 });
  const waiting = send(world, { headers: { ...to("new", port), host: "x" } });
  await expect.poll(() => asked).toEqual(["new"]);
  world.sandbox("new");
  came.resolve(true);
  const [response] = await waiting;
  expect(await text(response)).toBe("here");
});
