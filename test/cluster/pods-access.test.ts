/** Logs and commands through the real API server and kubelet. */
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { type ExecCommand, PodAccessError } from "#kube/pod-access.ts";
import type { Pod } from "#model/pod.ts";
import { until } from "./cluster-under-test.ts";
import { bareImage, ourImage, RenderedPods } from "./pods-rendered.ts";

const sh = (script: string): { readonly argv: readonly string[] } => ({ argv: ["sh", "-c", script] });

async function aShell(): Promise<{ pods: RenderedPods; pod: Pod; key: { namespace: string; name: string } }> {
  const pods = await RenderedPods.open();
  const pod = await pods.ready(await pods.create({ image: ourImage("agentbox-base"), delivery: "image-volume" }));
  return { pods, pod, key: { namespace: pods.namespace, name: pod.metadata.name ?? "" } };
}

test("commands have their input, both outputs and their exit code; a user, a folder and variables", async () => {
  const { pods, pod } = await aShell();
  expect(await pods.run(pod, sh("cat; echo bad >&2; exit 42"), "sent")).toEqual({ out: "sent", errors: "bad\n", code: 42 });
  const command: ExecCommand = { ...sh('id -un; id -Gn; pwd; echo "$HOME $A"'), user: "user", workingDir: "/usr", env: { A: "b c" } };
  expect((await pods.run(pod, command)).out).toMatch(/^user\n[^\n]*user[^\n]*\n\/usr\n\/home\/user b c\n$/);
  expect((await pods.run(pod, sh("kill -9 $$"))).code).toBe(137);
  const input = "x".repeat(3_000_000);
  expect((await pods.run(pod, sh("wc -c"), input)).out.trim()).toBe("3000000");
  expect((await pods.run(pod, sh("head -c 20000000 /dev/zero"))).out).toHaveLength(20_000_000);
  await expect(pods.run(pod, { argv: ["no-such-program"] })).rejects.toThrow('there is no program "no-such-program" in PATH');
  await expect(pods.run(pod, { ...sh("true"), user: "no-such-user" })).rejects.toThrow('there is no user "no-such-user"');
});

test("a terminal has a size, another one when it is resized, and what is typed", async () => {
  const { pods, key } = await aShell();
  const session = await pods.client.pods.exec({ pod: key, command: { argv: ["bash", "--norc", "-i"], tty: { rows: 31, cols: 97 } } });
  let seen = "";
  session.stdout.on("data", (chunk: Buffer) => (seen += chunk.toString()));
  const shows = (part: string): Promise<void> => until(async () => expect(seen).toContain(part));
  session.stdin.write("stty size\n");
  await shows("31 97");
  session.resize(40, 120);
  // A kubelet hands on sizes and what is typed side by side: what is typed next may be there first.
  await until(async () => {
    session.stdin.write("stty size; tty\n");
    expect(seen).toContain("40 120");
  });
  await shows("/dev/pts/");
  session.stdin.write("exit 7\n");
  expect(await session.exitCode).toBe(7);
  expect(await text(session.stderr)).toBe("");
});

test("who aborts kills the command with what it started", async () => {
  const { pods, pod, key } = await aShell();
  const abort = new AbortController();
  const session = await pods.client.pods.exec({ pod: key, command: { ...sh("sleep 4711 & echo on; sleep 4712"), signal: abort.signal } });
  await new Promise((resolve) => void session.stdout.once("data", resolve));
  const sleeping = async (): Promise<string> => (await pods.run(pod, sh("grep -al 471[12] /proc/[0-9]*/cmdline | wc -l"))).out.trim();
  expect(Number(await sleeping())).toBeGreaterThanOrEqual(3);
  abort.abort(new Error("enough"));
  await expect(session.exitCode).rejects.toThrow("enough");
  // The asking shell itself has the number in its command line, and so has grep.
  await until(async () => expect(Number(await sleeping())).toBeLessThanOrEqual(2));
});

describe("logs", () => {
  test("are read from the end, since a while ago, of the container before, and as they are written", async () => {
    const { pods, pod, key } = await aShell();
    const log = (request: object): Promise<string> => text(pods.client.pods.readLogs({ pod: key, ...request }));
    await pods.run(pod, sh("for n in 1 2 3; do echo line $n > /proc/1/fd/1; done"));
    await until(async () => expect(await log({ tail: 2 })).toBe("line 2\nline 3\n"));
    expect(await log({ sinceMs: 60_000 })).toContain("line 1\n");
    await expect(log({ previous: true })).rejects.toMatchObject({ code: "not_found" });

    const abort = new AbortController();
    const following = pods.client.pods.readLogs({ pod: key, tail: 0, follow: abort.signal })[Symbol.asyncIterator]();
    const first = following.next();
    await pods.run(pod, sh("echo new line > /proc/1/fd/1"));
    expect((await first).value?.toString()).toBe("new line\n");
    abort.abort();
    expect(await following.next()).toEqual({ done: true, value: undefined });

    const before = pod.status?.containerStatuses?.[0]?.containerID;
    await pods.swap(pod, ourImage("agentbox-base"), 1);
    await pods.ready(pod, ({ status }) => status?.containerStatuses?.[0]?.containerID !== before);
    expect(await log({ previous: true })).toContain("new line\n");
    expect(await log({})).not.toContain("new line\n");
  });
});

test("what cannot be done is said", async () => {
  const pods = await RenderedPods.open();
  const image = await bareImage("tests/bare:1");
  const pod = await pods.create({ image, delivery: "image-volume", spec: { nodeSelector: { no: "such-node" } } });
  const key = { namespace: pods.namespace, name: pod.metadata.name ?? "" };
  const { pods: access } = pods.client;
  await expect(access.exec({ pod: key, command: sh("true") })).rejects.toMatchObject({ code: "not_running" });
  await expect(text(access.readLogs({ pod: key }))).rejects.toBeInstanceOf(PodAccessError);
  await expect(access.exec({ pod: { ...key, name: "no-such-pod" }, command: sh("true") })).rejects.toMatchObject({ code: "not_found" });
});
