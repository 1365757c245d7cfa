import { describe, expect, test } from "vitest";
import { SimulatedNetwork } from "../../../../../../test/world/node-world.ts";
import { SimulatedPodRuntime } from "../../../../../../test/world/simulated-pod-runtime.ts";
import { settle, SteppedClock } from "../../../../../../test/world/stepped-clock.ts";
import { rendered } from "../../../../../../test/world/rendered-container.ts";
import type { Handler, StoredContainer } from "#engines/embedded/stored-pod.ts";
import { type Answer, ask } from "./ask.ts";

interface Scene {
  readonly clock: SteppedClock;
  readonly runtime: SimulatedPodRuntime;
  readonly network: SimulatedNetwork;
  readonly asking: (
    handler: Handler,
    options?: { timeoutMs?: number; signal?: AbortSignal; container?: Partial<StoredContainer> },
  ) => Promise<Answer>;
}

async function scene(): Promise<Scene> {
  const clock = new SteppedClock();
  const runtime = new SimulatedPodRuntime(clock);
  const network = new SimulatedNetwork();
  const plan = rendered({});
  await runtime.ensurePod({ uid: plan.podUid, namespace: "ns", name: "box", hostname: "box", limits: { pids: 1 } });
  await runtime.createContainer(plan);
  await runtime.startContainer(plan.id);
  return {
    clock,
    runtime,
    network,
    asking: (handler, { timeoutMs, signal = new AbortController().signal, container = {} } = {}) =>
      ask(
        { runtime, network, clock },
        { id: plan.id, address: "10.88.0.2", container: { name: "main", resources: {}, terminationMessagePolicy: "File", ...container } },
        handler,
        {
          signal,
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
        },
      ),
  };
}

describe("a command", () => {
  test("answers by its exit code, and says why by its output", async () => {
    const { runtime, asking, clock } = await scene();
    const good = asking({ exec: { command: ["ok"] } });
    await clock.step(0);
    expect(await good).toEqual({ ok: true });
    runtime.answerExec(() => ({ code: 2, output: "broken\n" }));
    const bad = asking({ exec: { command: ["bad"] } });
    await clock.step(0);
    expect(await bad).toEqual({ ok: false, output: "broken" });
  });

  test("without any output its code is told", async () => {
    const { runtime, asking, clock } = await scene();
    runtime.answerExec(() => ({ code: 2 }));
    const bad = asking({ exec: { command: ["bad"] } });
    await clock.step(0);
    expect(await bad).toEqual({ ok: false, output: 'command ["bad"] ended with 2' });
  });

  test("of a container that has ended is a bad answer, not a failure of ours", async () => {
    const { runtime, asking } = await scene();
    runtime.reboot();
    expect(await asking({ exec: { command: ["x"] } })).toMatchObject({ ok: false });
  });
});

describe("a request", () => {
  test.each([
    [200, true],
    [204, true],
    [301, true],
    [399, true],
    [400, false],
    [503, false],
    [199, false],
  ])("answered with %i is good: %s", async (status, ok) => {
    const { network, asking } = await scene();
    network.answer = () => status;
    expect((await asking({ httpGet: { port: 80 } })).ok).toBe(ok);
  });

  test("goes to the pod, as the pod describes it", async () => {
    const { network, asking } = await scene();
    const httpHeaders = [{ name: "X-Key", value: "1" }];
    await asking(
      { httpGet: { port: "web", path: "/x?y=1", scheme: "HTTPS", httpHeaders } },
      { container: { ports: [{ name: "web", containerPort: 8443 }] } },
    );
    expect(network.requests).toEqual([{ scheme: "https", address: "10.88.0.2", port: 8443, path: "/x?y=1", headers: [["X-Key", "1"]] }]);
  });

  test("to a port that has no such name is a bad answer that says so", async () => {
    const { asking } = await scene();
    expect(await asking({ httpGet: { port: "web" } })).toEqual({ ok: false, output: 'the container main has no port named "web"' });
  });

  test("that is never answered ends with its time", async () => {
    const { network, asking, clock } = await scene();
    network.answer = () => "nothing";
    const answer = asking({ httpGet: { port: 80 } }, { timeoutMs: 2_000 });
    await clock.step(2_000);
    expect(await answer).toEqual({ ok: false, output: "no answer within 2 s" });
    expect(clock.pending).toBe(0);
  });

  test("ends with the signal", async () => {
    const { network, asking } = await scene();
    network.answer = () => "nothing";
    const stop = new AbortController();
    const answer = asking({ httpGet: { port: 80 } }, { signal: stop.signal });
    stop.abort(new Error("not wanted any more"));
    expect(await answer).toEqual({ ok: false, output: "not wanted any more" });
  });
});

test("a pause takes as long as it says", async () => {
  const { asking, clock } = await scene();
  let isOver = false;
  void asking({ sleep: { seconds: 3 } }).then(() => (isOver = true));
  await clock.step(2_999);
  expect(isOver).toBe(false);
  await clock.step(1);
  await settle();
  expect(isOver).toBe(true);
});
