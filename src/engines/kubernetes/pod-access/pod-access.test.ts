import { randomBytes } from "node:crypto";
import { buffer, text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { isApiError } from "#kube/api-error.ts";
import { CommandNotStarted, type ExecCommand, type ExecSession, type PodAccess, PodAccessError } from "#kube/pod-access.ts";
import type { Pod } from "#model/pod.ts";
import { eventually } from "../../../../test/world/eventually.ts";
import { type FakeKubelet, startFakeKubelet } from "../../../../test/world/fake-kubelet.ts";
import { kubernetesClient } from "../client.ts";

const key = { namespace: "ns", name: "py-1" };
const runningState = { running: {} };
const aPod: Pod = {
  metadata: { ...key, uid: "u" },
  spec: {
    nodeName: "n1",
    containers: [
      { name: "main", volumeMounts: [{ name: "agentbox-daemon", mountPath: "/.envd", readOnly: true }] },
      { name: "side" },
      { name: "waiting" },
    ],
  },
  status: {
    containerStatuses: ["main", "side"].map((name) => ({
      name,
      image: "",
      imageID: "",
      ready: true,
      restartCount: 0,
      state: runningState,
    })),
  },
};

async function open(protocols?: readonly string[]): Promise<{ kubelet: FakeKubelet; pods: PodAccess }> {
  const kubelet = await startFakeKubelet(protocols);
  kubelet.pod = aPod;
  const client = await kubernetesClient({ url: kubelet.url, token: "t" });
  onTestFinished(async () => {
    await client.close();
    await kubelet[Symbol.asyncDispose]();
  });
  return { kubelet, pods: client.pods };
}

async function run(pods: PodAccess, command: ExecCommand, input?: string): Promise<{ out: string; errors: string; code: number }> {
  const session = await pods.exec({ pod: key, command });
  if (input === undefined) session.stdin.end();
  else session.stdin.end(input);
  const [out, errors, code] = await Promise.all([text(session.stdout), text(session.stderr), session.exitCode]);
  return { out, errors, code };
}

const sh = (script: string): { readonly argv: readonly string[] } => ({ argv: ["sh", "-c", script] });

describe("a command", () => {
  test("has its streams and its exit code, and is not seen to have been launched", async () => {
    const { pods } = await open();
    expect(await run(pods, sh("cat; echo to-errors >&2; exit 3"), "sent\n")).toEqual({ out: "sent\n", errors: "to-errors\n", code: 3 });
    expect(await run(pods, sh("exit 0"))).toEqual({ out: "", errors: "", code: 0 });
  });

  test("runs with the variables and in the folder that were asked for, whatever is in them", async () => {
    const { kubelet, pods } = await open();
    const env = { A: `"quotes" & 'quotes' ?=%20 \n $HOME ü` };
    expect((await run(pods, { ...sh('printf %s "$A"; pwd'), env, workingDir: "/usr" })).out).toBe(`${env.A}/usr\n`);
    expect(await run(pods, { ...sh("cat; exit 3"), env }, "its input")).toEqual({ out: "its input", errors: "", code: 3 });
    // Addresses are written down by others.
    expect(kubelet.paths.some((path) => decodeURIComponent(path.replaceAll("+", " ")).includes("quotes"))).toBe(false);
  });

  test("may have more arguments than an address holds", async () => {
    const { pods } = await open();
    expect((await run(pods, { argv: ["sh", "-c", 'printf %s "$0" | wc -c', "x".repeat(100_000)] })).out.trim()).toBe("100000");
  });

  test("is passed bytes as they are, both ways", async () => {
    const { pods } = await open();
    const bytes = randomBytes(3_000_000);
    const session = await pods.exec({ pod: key, command: { argv: ["cat"], env: { A: "b" } } });
    session.stdin.end(bytes);
    const got = await buffer(session.stdout);
    expect([got.equals(bytes), await session.exitCode]).toEqual([true, 0]);
  });

  test("is signalled with what it started, also when the signal comes before it runs", async () => {
    const { pods } = await open();
    for (const isEarly of [false, true]) {
      const session = await pods.exec({ pod: key, command: sh("trap 'echo caught; exit 5' INT; echo on; sleep 1000") });
      const said = text(session.stdout);
      if (!isEarly) await new Promise((resolve) => void session.stdout.once("data", resolve));
      session.signal(isEarly ? "SIGTERM" : "SIGINT");
      expect([await session.exitCode, (await said).includes("caught")]).toEqual(isEarly ? [143, false] : [5, true]);
    }
  });

  test("whose output nobody reads any more gets the signal of a broken pipe", async () => {
    const { kubelet, pods } = await open();
    const session = await pods.exec({ pod: key, command: sh("while :; do echo on; done") });
    await new Promise((resolve) => void session.stdout.once("data", resolve));
    session.stdout.destroy();
    session.exitCode.catch(() => {});
    await eventually(() => expect(kubelet.running.size).toBe(0));
  });

  test("fails with what its container says when it cannot be started", async () => {
    const { pods } = await open();
    const fault = async (command: ExecCommand): Promise<unknown> => {
      const error: unknown = await run(pods, command).catch((thrown: unknown) => thrown);
      return error instanceof CommandNotStarted ? [error.fault, error.message] : error;
    };
    expect(await fault({ argv: ["no-such-program"] })).toEqual(["not-found", 'there is no program "no-such-program" in PATH']);
    expect(await fault({ argv: ["/etc/passwd"] })).toEqual(["not-executable", '"/etc/passwd" may not be executed']);
    expect(await fault({ ...sh("true"), user: "no-such-user" })).toMatchObject(["user", expect.stringContaining("no-such-user")]);
    expect(await fault({ ...sh("true"), workingDir: "/no/such" })).toMatchObject(["workingDir", expect.stringContaining("/no/such")]);
  });

  test("gets and gives more than fits anywhere, without it being kept in memory", async () => {
    const { pods } = await open();
    const session = await pods.exec({ pod: key, command: sh("head -c 50000000 /dev/zero; exit 0") });
    session.stdin.end();
    await eventually(() =>
      expect(session.stdout.readable && (session.stdout as { readableLength?: number }).readableLength).toBeGreaterThan(0),
    );
    let size = 0;
    for await (const chunk of session.stdout) size += (chunk as Buffer).length;
    expect([size, await session.exitCode]).toEqual([50_000_000, 0]);
    const input = "x".repeat(1_000_000);
    expect((await run(pods, sh("wc -c"), input)).out.trim()).toBe("1000000");
  });

  test("on a terminal has one output and the size that it is given", async () => {
    const { kubelet, pods } = await open();
    const session = await pods.exec({ pod: key, command: { ...sh("cat"), tty: { rows: 24, cols: 80 } } });
    session.resize(50, 132);
    session.stdin.end();
    expect(await session.exitCode).toBe(0);
    expect(kubelet.sizes).toEqual([
      { Width: 80, Height: 24 },
      { Width: 132, Height: 50 },
    ]);
    const query = new URLSearchParams(kubelet.paths.at(-1)?.split("?")[1]);
    expect({ tty: query.get("tty"), stderr: query.get("stderr") }).toEqual({ tty: "true", stderr: "false" });
  });

  test("in a container without the daemon is run as it is, and refused if it needs more than its words", async () => {
    const { kubelet, pods } = await open();
    const session = await pods.exec({ pod: key, container: "side", command: sh("exit 4") });
    expect(await session.exitCode).toBe(4);
    expect(new URLSearchParams(kubelet.paths.at(-1)?.split("?")[1]).getAll("command")).toEqual(["sh", "-c", "exit 4"]);
    await expect(pods.exec({ pod: key, container: "side", command: { ...sh("id"), user: "nobody" } })).rejects.toThrow(
      "has no daemon that could see to the command's user",
    );
  });

  test("is run by servers that know only the older protocol", async () => {
    const { pods } = await open(["v4.channel.k8s.io"]);
    expect(await run(pods, sh("echo old; exit 2"))).toEqual({ out: "old\n", errors: "", code: 2 });
  });
});

describe("who aborts", () => {
  const started = async (session: ExecSession): Promise<void> => {
    await new Promise((resolve) => void session.stdout.once("data", resolve));
  };

  test("kills the command with what it started", async () => {
    const { kubelet, pods } = await open();
    const abort = new AbortController();
    const session = await pods.exec({ pod: key, command: { ...sh("sleep 1000 & echo on; wait"), signal: abort.signal } });
    await started(session);
    abort.abort(new Error("enough"));
    await expect(session.exitCode).rejects.toThrow("enough");
    await eventually(() => expect(kubelet.running.size).toBe(0));
  });

  test("kills it also when it has not begun to speak, and nobody reads", async () => {
    const { kubelet, pods } = await open();
    const abort = new AbortController();
    const session = await pods.exec({ pod: key, command: { ...sh("sleep 1000"), signal: abort.signal } });
    abort.abort(new Error("enough"));
    await expect(session.exitCode).rejects.toThrow("enough");
    await eventually(() => expect(kubelet.running.size).toBe(0));
  });

  test("before it is started starts nothing", async () => {
    const { kubelet, pods } = await open();
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(pods.exec({ pod: key, command: { ...sh("true"), signal } })).rejects.toThrow("enough");
    expect(kubelet.paths.filter((path) => path.includes("/exec"))).toEqual([]);
  });
});

describe("what cannot be done is said", () => {
  const refusals: readonly [string, Partial<FakeKubelet>, string | undefined, string][] = [
    ["no pod", { pod: undefined }, undefined, "not_found"],
    ["no such container", {}, "other", "not_found"],
    ["a container that does not run", {}, "waiting", "not_running"],
    [
      "a node that lost it",
      { refuse: { status: 500, message: 'unable to upgrade connection: container not found ("main")' } },
      "main",
      "not_running",
    ],
  ];
  test.each(refusals)("%s", async (_, change, container, code) => {
    const { kubelet, pods } = await open();
    Object.assign(kubelet, change);
    const error = await pods.exec({ pod: key, command: sh("true"), ...(container && { container }) }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PodAccessError);
    expect(error).toMatchObject({ code });
  });

  test("a connection that breaks fails the command, whose fate nobody knows", async () => {
    const { kubelet, pods } = await open();
    const session = await pods.exec({ pod: key, command: sh("echo on; sleep 1000") });
    await new Promise((resolve) => void session.stdout.once("data", resolve));
    kubelet.cut();
    const error = await session.exitCode.catch((thrown: unknown) => thrown);
    expect(isApiError(error, "Unreachable")).toBe(true);
    expect(await text(session.stderr)).toBe("");
  });

  test("an expired credential is read again, once", async () => {
    const { kubelet, pods } = await open();
    kubelet.token = "another";
    const error = await pods.exec({ pod: key, command: sh("true") }).catch((thrown: unknown) => thrown);
    expect(isApiError(error, "Unauthorized")).toBe(true);
    expect(kubelet.paths.filter((path) => path.includes("/exec"))).toHaveLength(2);
  });
});

describe("a log", () => {
  const read = async (pods: PodAccess, request: Omit<Parameters<PodAccess["readLogs"]>[0], "pod">): Promise<string> =>
    text(pods.readLogs({ pod: key, ...request }));

  test("is asked for as the server has it: seconds, the first container, what was before", async () => {
    const { kubelet, pods } = await open();
    const asked: string[] = [];
    kubelet.answerLogs((query, response) => {
      asked.push(query.toString());
      response.end("line\n");
    });
    expect(await read(pods, { tail: 5, sinceMs: 10, previous: true })).toBe("line\n");
    expect(await read(pods, { container: "side", sinceMs: 2500 })).toBe("line\n");
    expect(asked).toEqual(["container=main&tailLines=5&sinceSeconds=1&previous=true", "container=side&sinceSeconds=3"]);
  });

  test("is followed until nobody wants to any more", async () => {
    const { kubelet, pods } = await open();
    kubelet.answerLogs((_, response) => void response.write("one\n"));
    const abort = new AbortController();
    const pieces: string[] = [];
    for await (const piece of pods.readLogs({ pod: key, follow: abort.signal })) {
      pieces.push(piece.toString());
      abort.abort();
    }
    expect(pieces).toEqual(["one\n"]);
    expect(kubelet.paths.at(-1)).toContain("follow=true");
  });

  test("that is not there is said so", async () => {
    const { kubelet, pods } = await open();
    kubelet.answerLogs((_, response) => {
      const message = 'container "main" in pod "py-1" is waiting to start: ContainerCreating';
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ kind: "Status", reason: "BadRequest", message }));
    });
    await expect(read(pods, {})).rejects.toMatchObject({ name: "PodAccessError", code: "not_running" });
    for (const pod of [undefined, { ...aPod, spec: { containers: aPod.spec.containers } }]) {
      kubelet.pod = pod;
      await expect(read(pods, {})).rejects.toMatchObject({ name: "PodAccessError", code: "not_found" });
    }
  });
});
