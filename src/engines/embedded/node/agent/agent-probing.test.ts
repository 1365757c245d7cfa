import { describe, expect, test } from "vitest";
import { aContainer, NodeWorld } from "../../../../../test/world/node-world.ts";

const http = { httpGet: { path: "/health", port: 8080 } };

describe("readiness", () => {
  test("a container is ready when its probe says so", async () => {
    await using world = await NodeWorld.start();
    world.network.answer = () => 503;
    await world.createPod("a", { containers: [aContainer({ readinessProbe: { ...http, periodSeconds: 5 } })] });
    expect(await world.containerStatus("a")).toMatchObject({ state: { running: {} }, started: true, ready: false });
    expect(await world.condition("a", "Ready")).toMatchObject({ status: "False", reason: "ContainersNotReady" });
    world.network.answer = () => 200;
    await world.step(5_000);
    expect(await world.containerStatus("a")).toMatchObject({ ready: true });
    expect(await world.condition("a", "Ready")).toMatchObject({ status: "True" });
    expect(world.network.requests[0]).toEqual({ scheme: "http", address: "10.88.0.2", port: 8080, path: "/health", headers: [] });
  });

  test("a container that has just started is asked again soon, so that nobody waits for a whole period", async () => {
    await using world = await NodeWorld.start();
    const began = world.clock.now();
    world.network.answer = () => (world.clock.now() - began < 55 ? new Error("connection refused") : 200);
    await world.createPod("a", { containers: [aContainer({ readinessProbe: { ...http, periodSeconds: 10 } })] });
    await world.step(80);
    expect(await world.containerStatus("a")).toMatchObject({ ready: true });
    expect(await world.events("Unhealthy")).toEqual([]);
  });

  test("it takes failureThreshold bad answers in a row to lose readiness, and each is told", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer({ readinessProbe: { ...http, periodSeconds: 1, failureThreshold: 3 } })] });
    await world.step(1_500);
    expect(await world.containerStatus("a")).toMatchObject({ ready: true });
    world.network.answer = () => 500;
    await world.step(2_000);
    expect(await world.containerStatus("a")).toMatchObject({ ready: true });
    await world.step(1_000);
    expect(await world.containerStatus("a")).toMatchObject({ ready: false, restartCount: 0 });
    expect(await world.events("Unhealthy")).toMatchObject([
      { message: "Readiness probe failed: HTTP probe failed with statuscode: 500", count: 3 },
    ]);
  });

  test("it takes successThreshold good answers to get it back", async () => {
    await using world = await NodeWorld.start();
    world.network.answer = () => 500;
    await world.createPod("a", { containers: [aContainer({ readinessProbe: { ...http, periodSeconds: 1, successThreshold: 3 } })] });
    await world.step(2_500);
    world.network.answer = () => 200;
    await world.step(2_000);
    expect(await world.containerStatus("a")).toMatchObject({ ready: false });
    await world.step(1_000);
    expect(await world.containerStatus("a")).toMatchObject({ ready: true });
  });

  test("the first question waits for the initial delay", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer({ readinessProbe: { ...http, initialDelaySeconds: 7 } })] });
    await world.step(6_999);
    expect(world.network.requests).toEqual([]);
    await world.step(1);
    expect(await world.containerStatus("a")).toMatchObject({ ready: true });
  });

  test("no answer in time is a bad answer", async () => {
    await using world = await NodeWorld.start();
    world.network.answer = () => "nothing";
    await world.createPod("a", { containers: [aContainer({ readinessProbe: { ...http, periodSeconds: 2, timeoutSeconds: 1 } })] });
    await world.step(10_000);
    expect(await world.events("Unhealthy")).toMatchObject([{ message: "Readiness probe failed: no answer within 1 s" }]);
  });

  test("a port may be given by its name, and by a connection alone", async () => {
    await using world = await NodeWorld.start();
    world.network.accepts = (port) => port === 9000;
    await world.createPod("a", {
      containers: [aContainer({ ports: [{ name: "api", containerPort: 9000 }], readinessProbe: { tcpSocket: { port: "api" } } })],
    });
    await world.step(10);
    expect(await world.containerStatus("a")).toMatchObject({ ready: true });
  });

  test("a command inside the container may answer", async () => {
    await using world = await NodeWorld.start();
    world.runtime.answerExec(() => ({ code: 1, output: "not yet" }));
    await world.createPod("a", { containers: [aContainer({ readinessProbe: { exec: { command: ["check"] }, periodSeconds: 1 } })] });
    await world.step(10);
    expect(await world.events("Unhealthy")).toMatchObject([{ message: "Readiness probe failed: not yet" }]);
    world.runtime.answerExec(() => ({ code: 0 }));
    await world.step(1_000);
    expect(await world.containerStatus("a")).toMatchObject({ ready: true });
  });

  test("a new container begins unready, whatever its forerunner was", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer({ readinessProbe: http })] });
    world.network.answer = () => 503;
    await world.setImage("a", "registry.invalid/app:2");
    await world.step(100);
    expect(await world.containerStatus("a")).toMatchObject({ image: "registry.invalid/app:2", ready: false });
  });
});

describe("liveness", () => {
  test("a container that fails it is stopped and started again", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", { containers: [aContainer({ livenessProbe: { ...http, periodSeconds: 1, failureThreshold: 2 } })] });
    await world.step(1_500);
    world.network.answer = ({ address }) => (address === "10.88.0.2" && world.runtime.starts.length === 1 ? 500 : 200);
    await world.step(2_000);
    expect(await world.containerStatus("a")).toMatchObject({ restartCount: 1, state: { running: {} } });
    expect(await world.events("Killing")).toMatchObject([{ message: "Container main failed liveness probe, will be restarted" }]);
  });

  test("under Never it is stopped and stays so", async () => {
    await using world = await NodeWorld.start();
    await world.createPod("a", {
      restartPolicy: "Never",
      containers: [aContainer({ livenessProbe: { ...http, periodSeconds: 1, failureThreshold: 1 } })],
    });
    await world.step(1_500);
    world.network.answer = () => 500;
    await world.step(1_000);
    expect((await world.thePod("a")).status).toMatchObject({ phase: "Succeeded", containerStatuses: [{ restartCount: 0 }] });
  });

  test("the probe's own grace period goes before the pod's", async () => {
    await using world = await NodeWorld.start();
    world.runtime.behave(() => ({ onStop: "ignores" }));
    const livenessProbe = { ...http, periodSeconds: 1, failureThreshold: 1, terminationGracePeriodSeconds: 3 };
    await world.createPod("a", { containers: [aContainer({ livenessProbe })] });
    await world.step(1_500);
    world.network.answer = () => 500;
    await world.step(500);
    const [term] = world.runtime.signals;
    await world.step(3_000);
    expect(world.runtime.signals[1]).toMatchObject({ signal: "SIGKILL", at: (term?.at ?? 0) + 3_000 });
  });
});

describe("startup", () => {
  test("until it has succeeded nothing else is asked, and the container has not started", async () => {
    await using world = await NodeWorld.start();
    world.network.answer = ({ path }) => (path === "/started" ? 503 : 200);
    const probes = {
      startupProbe: { httpGet: { path: "/started", port: 8080 }, periodSeconds: 1, failureThreshold: 100 },
      livenessProbe: { httpGet: { path: "/live", port: 8080 }, periodSeconds: 1 },
      readinessProbe: { httpGet: { path: "/ready", port: 8080 }, periodSeconds: 1 },
    };
    await world.createPod("a", { containers: [aContainer(probes)] });
    await world.step(20_000);
    expect(await world.containerStatus("a")).toMatchObject({ started: false, ready: false });
    expect(new Set(world.network.requests.map(({ path }) => path))).toEqual(new Set(["/started"]));
    world.network.answer = () => 200;
    await world.step(1_000);
    expect(await world.containerStatus("a")).toMatchObject({ started: true, ready: true });
    const asked = world.network.requests.filter(({ path }) => path === "/started").length;
    await world.step(10_000);
    expect(world.network.requests.filter(({ path }) => path === "/started")).toHaveLength(asked);
  });

  test("a container that does not get through it is started again", async () => {
    await using world = await NodeWorld.start();
    world.network.answer = () => 503;
    await world.createPod("a", { containers: [aContainer({ startupProbe: { ...http, periodSeconds: 1, failureThreshold: 3 } })] });
    await world.step(4_500);
    expect(await world.events("Killing")).toMatchObject([{ message: "Container main failed startup probe, will be restarted" }]);
    expect(await world.containerStatus("a")).toMatchObject({ restartCount: 1 });
  });
});

test("a pod that is going away is not probed any more", async () => {
  await using world = await NodeWorld.start();
  world.runtime.behave(() => ({ onStop: "ignores" }));
  await world.createPod("a", { containers: [aContainer({ livenessProbe: { ...http, periodSeconds: 1 } })] });
  await world.deletePod("a");
  const asked = world.network.requests.length;
  await world.step(10_000);
  expect(world.network.requests).toHaveLength(asked);
});
