/** What images run by themselves, in sandboxes of any engine with real containers, out of a real registry. */
import { expect, test } from "vitest";
import { AgentBoxClient } from "#client/agentbox-client.ts";
import { annotationKeys } from "#model/keys.ts";
import type { Container } from "#model/pod.ts";
import { SandboxPools } from "#model/sandbox-pool.ts";
import { pushTinyImage } from "../cluster/tiny-image.ts";
import type { SystemUnderTest } from "./sandbox-stories.ts";

/** Writes down its program name, arguments, variables, user and working directory. */
const tell = 'echo "$0 $1 $WORD $GIVEN $(busybox id -u) $(busybox pwd)" >> /tmp/told';

/** Its reference with the tag alone: what it means is for AgentBox to find out. */
async function image(registry: string, name: string): Promise<string> {
  const files = { "srv/place/file": name };
  const env = ["PATH=/bin", `WORD=${name}`];
  const config = { entrypoint: ["/bin/sh", "-c", tell, name], cmd: ["by-itself"], env, user: "1000", workingDir: "/srv/place" };
  const pushed = await pushTinyImage(registry, { name: `tests/entrypoint-${name}:1`, files, config });
  return pushed.split("@", 1)[0] ?? "";
}

async function pool(up: SystemUnderTest, name: string, container: Partial<Container>): Promise<void> {
  const metadata = { annotations: { [annotationKeys.runEntrypoint]: "true" } };
  const spec = { terminationGracePeriodSeconds: 1, containers: [{ name: "main", ...container }] };
  await up.client.create(SandboxPools, {
    metadata: { namespace: up.namespace, name },
    spec: { replicas: 1, podCreationImagePolicy: "PoolDefaultImage", template: { metadata, spec } },
  });
}

/** What a sandbox's own program has told; once. */
async function told(up: SystemUnderTest, wish: { readonly poolName: string; readonly image?: string }): Promise<string> {
  const { sandboxes } = new AgentBoxClient(await up.access());
  const { sandbox } = await sandboxes.create({ ...wish, envVars: { GIVEN: "given" } });
  const command = ["sh", "-c", "until busybox test -s /tmp/told; do sleep 0.05; done; sleep 0.3; cat /tmp/told"];
  const { stdout } = await sandboxes.exec(sandbox.sandboxId, { command });
  await sandboxes.end(sandbox.sandboxId);
  return stdout;
}

/** Each starts several containers, on a machine that may be busy. */
const patience = { timeout: 300_000 };

/** `open`: one that is not started yet; `registry` is one that its nodes reach. */
export function describeEntrypointStories(open: () => Promise<SystemUnderTest>, registry: () => string): void {
  test(
    "an image's own program runs in a sandbox of it: once, as its user, in its folder, with its variables and the sandbox's",
    patience,
    async () => {
      await using up = await open();
      await up.start();
      await pool(up, "own", { image: await image(registry(), "first") });
      expect(await told(up, { poolName: "own" })).toBe("first by-itself first given 1000 /srv/place\n");
      // In the same pod, on another image: what that one runs.
      expect(await told(up, { poolName: "own", image: await image(registry(), "second") })).toBe(
        "second by-itself second given 1000 /srv/place\n",
      );
      expect(await told(up, { poolName: "own" })).toBe("first by-itself first given 1000 /srv/place\n");
    },
  );

  test("a template's arguments go to the image's program, its command in the place of it", patience, async () => {
    await using up = await open();
    await up.start();
    const env = [{ name: "NAME", value: "of the pod" }];
    await pool(up, "arguments", { image: await image(registry(), "first"), args: ["$(NAME)"], env });
    expect(await told(up, { poolName: "arguments" })).toBe("first of the pod first given 1000 /srv/place\n");
    await pool(up, "command", { image: await image(registry(), "first"), command: ["/bin/sh", "-c", tell, "pod"], args: ["$(NAME)"], env });
    expect(await told(up, { poolName: "command" })).toBe("pod of the pod first given 1000 /srv/place\n");
  });
}
