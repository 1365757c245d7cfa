import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ConfigMaps, Events, Secrets } from "#model/core-kinds.ts";
import { type Pod, Pods, type PodSpec } from "#model/pod.ts";
import { type RealNode, startRealNode } from "../../world/real-node.ts";
import { isOver, isRunning, key, namespace, script, statusOf, until } from "./pods-for-real.ts";

let world: RealNode;

beforeAll(async () => {
  world = await startRealNode();
});

afterAll(() => world[Symbol.asyncDispose]());

async function create(name: string, spec: PodSpec): Promise<Pod> {
  return world.store.create(Pods, { metadata: { namespace, name }, spec: { terminationGracePeriodSeconds: 2, ...spec } });
}

const logsOf = (name: string, container = "main") => text(world.node.agent.readLogs({ pod: key(name), container }));

describe("a real pod", () => {
  test("runs to its end, and its exit code, its output and its phase are told", async () => {
    await create("ends", { restartPolicy: "Never", containers: [script("echo out; echo err >&2; exit 7")] });
    const pod = await until(world.store, "ends", isOver);
    expect(pod.status).toMatchObject({ phase: "Failed" });
    expect(statusOf(pod)?.state?.terminated).toMatchObject({ exitCode: 7, reason: "Error" });
    expect((await logsOf("ends")).split("\n").sort()).toEqual(["", "err", "out"]);
    await world.remove("ends");
  });

  test("is still heard when it has ended and nothing of it is left on the machine", async () => {
    await create("heard", { restartPolicy: "Never", containers: [script("echo last words")] });
    const pod = await until(world.store, "heard", isOver);
    await expect.poll(() => world.node.runtime.inspect(pod.metadata.uid ?? "")).toBeUndefined();
    expect(await logsOf("heard")).toBe("last words\n");
    await world.remove("heard");
  });

  test("shares one network between its containers", async () => {
    await create("shared", {
      restartPolicy: "Never",
      containers: [
        script(
          "echo hello | timeout 20 python3 -c \"import socket,sys; s=socket.create_server(('127.0.0.1',7777)); c,_=s.accept(); c.sendall(b'hello\\n')\"",
        ),
        script("for i in $(seq 100); do exec 3<>/dev/tcp/127.0.0.1/7777 && head -1 <&3 && exit 0; sleep 0.1; done 2>/dev/null; exit 1", {
          name: "side",
        }),
      ],
    });
    await until(world.store, "shared", isOver);
    expect(await logsOf("shared", "side")).toBe("hello\n");
    await world.remove("shared");
  });

  test("is prepared by init containers over a shared folder, and told what it is", async () => {
    await world.store.create(ConfigMaps, { metadata: key("settings"), data: { mode: "fast" } });
    await world.store.create(Secrets, { metadata: key("keys"), stringData: { token: "s3cret" } });
    const volumeMounts = [{ name: "work", mountPath: "/work" }];
    await create("told", {
      restartPolicy: "Never",
      volumes: [
        { name: "work", emptyDir: {} },
        { name: "keys", secret: { secretName: "keys", defaultMode: 0o400 } },
      ],
      initContainers: [script("echo prepared > /work/file", { name: "init", volumeMounts })],
      containers: [
        script('cat /work/file /keys/token; echo; stat -c %a /keys/token; echo "$MODE $ME $IP"; hostname; nproc >/dev/null', {
          volumeMounts: [...volumeMounts, { name: "keys", mountPath: "/keys" }],
          env: [
            { name: "MODE", valueFrom: { configMapKeyRef: { name: "settings", key: "mode" } } },
            { name: "ME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
            { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
          ],
        }),
      ],
    });
    const pod = await until(world.store, "told", isOver);
    expect(await logsOf("told")).toBe(`prepared\ns3cret\n400\nfast told ${pod.status?.podIP}\ntold\n`);
    expect(pod.status?.phase).toBe("Succeeded");
    await world.remove("told");
  });

  test("runs as the user and groups that it asks for", async () => {
    await create("user", {
      restartPolicy: "Never",
      securityContext: { runAsUser: 1000, runAsGroup: 1000, supplementalGroups: [44], fsGroup: 2000 },
      volumes: [{ name: "work", emptyDir: {} }],
      containers: [
        script("id -u; id -g; id -G | tr ' ' '\\n' | sort -n | tr '\\n' ' '; echo; touch /work/mine && stat -c '%u %g' /work/mine", {
          volumeMounts: [{ name: "work", mountPath: "/work" }],
          securityContext: { capabilities: { drop: ["ALL"] }, allowPrivilegeEscalation: false },
        }),
      ],
    });
    await until(world.store, "user", isOver);
    expect(await logsOf("user")).toBe("1000\n1000\n44 1000 2000 \n1000 2000\n");
    await world.remove("user");
  });

  test("that uses up its memory is reported as OOMKilled", async () => {
    await create("hog", {
      restartPolicy: "Never",
      containers: [script('exec python3 -c "x=bytearray(10**9)"', { resources: { limits: { memory: "64Mi" } } })],
    });
    const pod = await until(world.store, "hog", isOver);
    expect(statusOf(pod)?.state?.terminated).toMatchObject({ exitCode: 137, reason: "OOMKilled" });
    await world.remove("hog");
  });

  test("that fails again and again is held back", async () => {
    await create("loop", { containers: [script("exit 1")] });
    const pod = await until(world.store, "loop", (one) => statusOf(one)?.state?.waiting?.reason === "CrashLoopBackOff");
    expect(statusOf(pod)).toMatchObject({ restartCount: 1, lastState: { terminated: { exitCode: 1 } } });
    await world.remove("loop");
  });

  test("whose program is missing says so", async () => {
    await create("missing", { containers: [{ name: "main", image: "host", command: ["/no/such/program"] }] });
    const pod = await until(
      world.store,
      "missing",
      (one) =>
        (statusOf(one)?.lastState?.terminated ?? statusOf(one)?.state?.waiting) !== undefined &&
        statusOf(one)?.state?.waiting?.reason !== "ContainerCreating",
    );
    const { items } = await world.store.list(Events, { namespace, fieldSelector: "involvedObject.name=missing" });
    expect(JSON.stringify([pod.status, items.map(({ message }) => message)])).toContain("/no/such/program");
    await world.remove("missing");
  });

  test("that does not listen to the signal is killed after its grace period, and one that does ends by itself", async () => {
    await create("deaf", { terminationGracePeriodSeconds: 1, containers: [script("trap '' TERM; while :; do sleep 0.1; done")] });
    await create("polite", { terminationGracePeriodSeconds: 30, containers: [script("trap 'exit 5' TERM; while :; do sleep 0.1; done")] });
    await Promise.all([until(world.store, "deaf", isRunning), until(world.store, "polite", isRunning)]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const began = Date.now();
    await world.remove("polite");
    expect(Date.now() - began).toBeLessThan(5_000);
    await world.remove("deaf");
    expect(Date.now() - began).toBeGreaterThan(900);
  });

  test("gets another image in place: a fresh layer, the same address, and nothing else is touched", async () => {
    await create("swap", { containers: [script("echo $$ > /tmp/mine; exec sleep 1000"), script("exec sleep 1000", { name: "side" })] });
    const before = await until(world.store, "swap", isRunning);
    await world.run("swap", ["sh", "-c", "echo secret > /root/left-behind"]);
    const image = `host:1-u1@${statusOf(before)?.imageID.split("@")[1]}`;
    await world.store.patch(Pods, key("swap"), {
      type: "json",
      operations: [{ op: "replace", path: "/spec/containers/0/image", value: image }],
    });
    const after = await until(world.store, "swap", (pod) => isRunning(pod) && statusOf(pod)?.restartCount === 1);
    expect(statusOf(after)).toMatchObject({ image, imageID: statusOf(before)?.imageID });
    expect(after.status?.podIP).toBe(before.status?.podIP);
    expect(statusOf(after, "side")?.containerID).toBe(statusOf(before, "side")?.containerID);
    expect((await world.run("swap", ["cat", "/root/left-behind"])).code).toBe(1);
    await world.remove("swap");
  });

  test("is ready when a command in it says so, and its log can be followed", async () => {
    await create("probed", {
      containers: [
        script("for i in 1 2 3; do echo line $i; sleep 0.2; done; touch /tmp/ready; exec sleep 1000", {
          readinessProbe: { exec: { command: ["test", "-e", "/tmp/ready"] }, periodSeconds: 1 },
        }),
      ],
    });
    await until(world.store, "probed", (pod) => statusOf(pod)?.state?.running !== undefined);
    const stop = new AbortController();
    let read = "";
    const reading = (async () => {
      for await (const chunk of world.node.agent.readLogs({ pod: key("probed"), follow: stop.signal })) read += chunk.toString();
    })();
    await until(world.store, "probed", isRunning);
    stop.abort(new Error("seen enough"));
    await reading;
    expect(read).toBe("line 1\nline 2\nline 3\n");
    await world.remove("probed");
  });
});

test("when all pods are gone nothing is left in the runtime", async () => {
  expect(await world.node.runtime.list()).toEqual([]);
});
