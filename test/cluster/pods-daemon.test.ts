/** The daemon in any image, by either way, on the real kubelet. */
import { describe, expect, test } from "vitest";
import { watchClusterFeatures } from "#engines/kubernetes/cluster-features.ts";
import { systemClock } from "#lib/clock.ts";
import { annotationKeys } from "#model/keys.ts";
import { recordedLog } from "../world/recorded-log.ts";
import { push, until } from "./cluster-under-test.ts";
import { bareImage, ourImage, RenderedPods } from "./pods-rendered.ts";

const images: Readonly<Record<string, { readonly reference: () => Promise<string>; readonly echo: readonly string[] }>> = {
  "a whole system with glibc": { reference: async () => ourImage("agentbox-base"), echo: ["echo"] },
  "a shell and nothing else": { reference: () => push({ name: "tests/shell:1" }), echo: ["echo"] },
  "one static program": { reference: () => bareImage("tests/bare:1"), echo: ["/busybox", "echo"] },
};

describe.each(["image-volume", "init-container"] as const)("as %s", (delivery) => {
  test.each(Object.entries(images))("the daemon works in %s", async (_, { reference, echo }) => {
    const pods = await RenderedPods.open();
    const image = await reference();
    const pod = await pods.ready(await pods.create({ image, delivery }));
    expect(await pods.health(pod)).toMatchObject({ podUid: pod.metadata.uid });
    await pods.arm(pod, "sb-1");
    expect(await pods.health(pod)).toMatchObject({ sandboxId: "sb-1" });
    const env = { WORD: "a 'quoted' word" };
    expect(await pods.run(pod, { argv: [...echo, "one", "two"], env, workingDir: "/" })).toEqual({ out: "one two\n", errors: "", code: 0 });

    // The same image again, as a recycling does: another container, and a daemon that is not armed.
    const before = pod.status?.containerStatuses?.[0]?.containerID;
    await pods.swap(pod, image, 1);
    const now = await pods.ready(pod, ({ status }) => status?.containerStatuses?.[0]?.containerID !== before);
    expect(await pods.health(now)).toEqual(expect.not.objectContaining({ sandboxId: "sb-1" }));
    expect(await pods.run(now, { argv: [...echo, "again"] })).toMatchObject({ out: "again\n", code: 0 });
  });

  test("a restricted pod works as its user, who cannot touch the daemon", async () => {
    const pods = await RenderedPods.open();
    const image = await push({ name: "tests/shell:1" });
    const pod = await pods.ready(await pods.create({ image, delivery, container: { securityContext: { runAsUser: 1000 } } }));
    await pods.arm(pod, "sb-1");
    const script =
      "busybox id -u; echo x > /.envd/node; echo x > /.envd/new; busybox grep -c . /.envd/launch.cjs > /dev/null && echo readable";
    const { out, errors } = await pods.run(pod, { argv: ["sh", "-c", script] });
    expect(out).toBe("1000\nreadable\n");
    expect(errors.match(/Read-only file system/g)).toHaveLength(2);
  });
});

test("sudo is of use where the template asks for escalation, and nowhere else", async () => {
  const pods = await RenderedPods.open();
  const image = ourImage("agentbox-base");
  const sudo = { argv: ["sudo", "-n", "sh", "-c", "id -u; touch /root/x && chown user /root/x && stat -c %U /root/x"], user: "user" };
  const securityContext = { allowPrivilegeEscalation: true };
  const asking = await pods.ready(await pods.create({ image, delivery: "image-volume", container: { securityContext } }));
  expect(await pods.run(asking, sudo)).toMatchObject({ out: "0\nuser\n", code: 0 });
  const other = await pods.ready(await pods.create({ image, delivery: "image-volume" }));
  expect(await pods.run(other, sudo)).toMatchObject({ out: "", code: 1, errors: expect.stringContaining("no new privileges") as string });
});

test("the command of a template runs when its sandbox is armed, with variables filled in by the kubelet", async () => {
  const pods = await RenderedPods.open();
  const image = await push({ name: "tests/shell:1" });
  const container = {
    command: ["sh", "-c", 'echo "$1 $GREETING"; exit 3', "x"],
    args: ["$(NAME)"],
    env: [{ name: "NAME", value: 'a "name"' }],
  };
  const annotations = { [annotationKeys.runEntrypoint]: "true" };
  const pod = await pods.ready(await pods.create({ image, delivery: "image-volume", container, annotations }));
  await pods.arm(pod, "sb-1");
  await until(async () => {
    const pieces = await Array.fromAsync(pods.client.pods.readLogs({ pod: { namespace: pods.namespace, name: pod.metadata.name ?? "" } }));
    expect(Buffer.concat(pieces).toString()).toContain('a "name" hello\n');
  });
});

test("this cluster has image volumes, and is found to", async () => {
  const pods = await RenderedPods.open();
  await using features = await until(() =>
    watchClusterFeatures({ client: pods.client, clock: systemClock, log: recordedLog().log, namespace: pods.namespace }),
  );
  await until(async () => expect(features.imageVolumes()).toBe(true));
});
