import { describe, expect, test } from "vitest";
import { envdPort } from "#envd-protocol/arming.ts";
import type { Container } from "#model/pod.ts";
import type { SandboxRuntime } from "#model/sandbox-runtime.ts";
import { aPoolPod } from "../../../test/world/pool-pods.ts";
import { defaultDaemonPort } from "#sandbox/runtimes/known-runtimes.ts";
import { daemonPortOf, swerexPortOf, unaskedProbes, withRuntimes } from "./runtimes.ts";

function made(runtimes: readonly SandboxRuntime[] | undefined, container: Partial<Container> = {}): Container {
  return withRuntimes({ name: "main", image: "app:1", ...container }, runtimes, { publicKey: "a2V5" });
}

test("the daemon listens where its protocol says", () => {
  expect(defaultDaemonPort).toBe(envdPort);
});

describe("the code interpreter", () => {
  const told = (runtimes: readonly SandboxRuntime[]): unknown =>
    made(runtimes).env?.find(({ name }) => name === "AGENTBOX_INTERPRETER_PORT")?.value;

  test("is served by the daemons of templates that name it, where clients look for it or where the template says", () => {
    expect(told([{ name: "code-interpreter" }])).toBe("49999");
    expect(told([{ name: "code-interpreter", port: 5000 }])).toBe("5000");
    expect(made([{ name: "code-interpreter" }]).ports).toContainEqual({ containerPort: 49_999, protocol: "TCP" });
  });

  test("costs nothing where no template names it", () => {
    expect(told([])).toBeUndefined();
    expect(made([], { env: [{ name: "AGENTBOX_INTERPRETER_PORT", value: "1" }] }).env?.map(({ name }) => name)).not.toContain(
      "AGENTBOX_INTERPRETER_PORT",
    );
  });
});

describe("SWE-ReX", () => {
  const variables = (runtime: SandboxRuntime) =>
    made([runtime])
      .env?.filter(({ name }) => name.startsWith("AGENTBOX_SWEREX"))
      .map(({ name, value }) => `${name}=${value}`);

  test("is served by the daemons of templates that name it, as their settings say", () => {
    expect(variables({ name: "swerex" })).toEqual(["AGENTBOX_SWEREX_PORT=8000"]);
    expect(variables({ name: "swerex", port: 9000, config: { user: "user" } })).toEqual([
      "AGENTBOX_SWEREX_PORT=9000",
      "AGENTBOX_SWEREX_USER=user",
    ]);
  });

  test("is found at its port, unless the image's own server is there", () => {
    const portOf = (runtime: SandboxRuntime) => swerexPortOf(aPoolPod({ spec: { containers: [made([runtime])] } }));
    expect([portOf({ name: "swerex" }), portOf({ name: "swerex", config: { mode: "process" } }), portOf({ name: "other" })]).toEqual([
      8000,
      undefined,
      undefined,
    ]);
  });
});

describe("a runtime that we do not know", () => {
  test("finds its port and its settings in variables, which no template can replace", () => {
    const env = [{ name: "RUNTIME_MY_TOOL_PORT", value: "1" }];
    expect(made([{ name: "my-tool", port: 7000, config: { a: [1] } }], { env }).env).toEqual(
      expect.arrayContaining([
        { name: "RUNTIME_MY_TOOL_PORT", value: "7000" },
        { name: "RUNTIME_MY_TOOL_CONFIG", value: '{"a":[1]}' },
      ]),
    );
    expect(made([{ name: "my-tool", port: 7000 }], { env }).env).toHaveLength(3);
  });
});

test("probes that nothing asks are named: of what the daemon serves, a container asks one", () => {
  const probe = { tcpSocket: { port: 1 } };
  const runtimes = ["a", "swerex", "e2b"].map((name) => ({ name, readinessProbe: probe }));
  expect(unaskedProbes({}, runtimes)).toEqual(["e2b"]);
  expect(unaskedProbes({ readinessProbe: { exec: { command: ["x"] } } }, runtimes)).toEqual(["swerex", "e2b"]);
  expect(unaskedProbes({})).toEqual([]);
});

describe("a sandbox's container without runtimes", () => {
  test("has the daemon's port, and is ready when the daemon answers", () => {
    const container = made(undefined);
    expect(container.ports).toEqual([{ name: "e2b", containerPort: 49_983, protocol: "TCP" }]);
    expect(container.readinessProbe).toMatchObject({ httpGet: { path: "/health", port: 49_983 } });
  });

  test("is not asked by a node that is not to ask, unless its template wants that", () => {
    const facts = { publicKey: "key", isProbed: false };
    expect(withRuntimes({ name: "main" }, undefined, facts)).not.toHaveProperty("readinessProbe");
    const own = { exec: { command: ["true"] } };
    expect(withRuntimes({ name: "main", readinessProbe: own }, undefined, facts).readinessProbe).toEqual(own);
  });

  test("keeps everything that it had", () => {
    expect(made(undefined, { command: ["sleep"], workingDir: "/x" })).toMatchObject({
      name: "main",
      image: "app:1",
      command: ["sleep"],
      workingDir: "/x",
    });
  });
});

describe("the daemon", () => {
  test("learns who it is from its pod, and who may arm it", () => {
    expect(made([]).env).toEqual([
      { name: "AGENTBOX_POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
      { name: "AGENTBOX_PUBLIC_KEY", value: "a2V5" },
    ]);
  });

  test("cannot be told otherwise by a template", () => {
    const { env } = made([], {
      env: [
        { name: "AGENTBOX_PUBLIC_KEY", value: "mine" },
        { name: "AGENTBOX_POD_UID", value: "fake" },
        { name: "AGENTBOX_ENVD_PORT", value: "1" },
        { name: "PATH", value: "/bin" },
      ],
    });
    expect(env?.map(({ name, value }) => `${name}=${value ?? ""}`)).toEqual(["AGENTBOX_POD_UID=", "AGENTBOX_PUBLIC_KEY=a2V5", "PATH=/bin"]);
  });

  test("listens where the runtime e2b says, and everybody finds it there", () => {
    const container = made([{ name: "e2b", port: 5000 }]);
    expect(container.ports).toEqual([{ name: "e2b", containerPort: 5000, protocol: "TCP" }]);
    expect(container.env).toContainEqual({ name: "AGENTBOX_ENVD_PORT", value: "5000" });
    expect(container.readinessProbe).toMatchObject({ httpGet: { port: 5000 } });
    expect(daemonPortOf(aPoolPod({ spec: { containers: [container] } }))).toBe(5000);
    expect(daemonPortOf(aPoolPod({ spec: { containers: [made(undefined)] } }))).toBe(49_983);
    expect(daemonPortOf(aPoolPod())).toBe(49_983);
  });

  test("is there beside other runtimes", () => {
    expect(made([{ name: "swerex", port: 8000 }]).ports?.map(({ containerPort }) => containerPort)).toEqual([8000, 49_983]);
  });
});

describe("runtimes", () => {
  test("give the container their ports, with their protocol", () => {
    const runtimes = [{ name: "e2b" }, { name: "dns", port: 53, protocol: "UDP" }, { name: "portless" }] as const;
    expect(made(runtimes).ports).toEqual([
      { name: "e2b", containerPort: 49_983, protocol: "TCP" },
      { name: "dns", containerPort: 53, protocol: "UDP" },
    ]);
  });

  test("do not repeat a port that is there", () => {
    const ports = [{ containerPort: 49_983 }, { name: "web", containerPort: 80, protocol: "TCP" as const }];
    const container = made(
      [
        { name: "e2b", port: 49_983 },
        { name: "web2", port: 80 },
        { name: "web3", port: 80, protocol: "UDP" },
      ],
      { ports },
    );
    expect(container.ports).toEqual([...ports, { name: "web3", containerPort: 80, protocol: "UDP" }]);
  });

  test.for(["a-name-longer-than-fifteen", "UPPER", "under_score", "42", "a--b"])("that are named %s give their port no name", (name) => {
    expect(made([{ name, port: 8000 }]).ports?.[0]).toEqual({ containerPort: 8000, protocol: "TCP" });
  });

  test("give a name only once", () => {
    const container = made([{ name: "web", port: 8000 }], { ports: [{ name: "web", containerPort: 80 }] });
    expect(container.ports?.[1]).toEqual({ containerPort: 8000, protocol: "TCP" });
  });

  test("give the container a probe: the container's own first, then the first of the daemon's runtimes; those of the image start later", () => {
    const own = { exec: { command: ["true"] } };
    const first = { tcpSocket: { port: 8000 } };
    const second = { tcpSocket: { port: 9000 } };
    const runtimes = [{ name: "a", readinessProbe: second }, ...["swerex", "e2b"].map((name) => ({ name, readinessProbe: first }))];
    expect(made(runtimes, { readinessProbe: own }).readinessProbe).toEqual(own);
    expect(made(runtimes).readinessProbe).toEqual(first);
  });
});
