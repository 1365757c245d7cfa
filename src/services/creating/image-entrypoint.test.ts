/** What an image runs by itself reaches the daemon with the order that arms it, on either path. */
import { expect, test } from "vitest";
import { ImageError } from "#images/image-error.ts";
import { annotationKeys } from "#model/keys.ts";
import { type SandboxPool, SandboxPools } from "#model/sandbox-pool.ts";
import { addressOf, commandOf } from "../../../test/world/claim-scene.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { meddled, waysToClaim } from "../../../test/world/meddled-writes.ts";
import { settle } from "../../../test/world/stepped-clock.ts";

const app = "registry.invalid/app:1";

function poolThatRuns(container: { readonly command?: string[]; readonly args?: string[] } = {}): Partial<SandboxPool["spec"]> {
  const metadata = { annotations: { [annotationKeys.runEntrypoint]: "true" } };
  return { template: { metadata, spec: { containers: [{ name: "main", image: app, ...container }] } } };
}

test.each(waysToClaim)("it comes with the one call of the fast path, and costs no other (claims on $where)", async ({ claimsOnLeases }) => {
  await using world = await embeddedClaimScene({ pool: poolThatRuns(), claimsOnLeases });
  const { scene } = world;
  const { client, meddling } = meddled(scene.client);
  const process = await scene.process({ client });
  await settle();
  let writes = 0;
  meddling.patch = meddling.lease = (send) => ((writes += 1), send());
  scene.daemons.calls.length = 0;
  await process.create();
  expect({ writes, calls: scene.daemons.calls }).toEqual({ writes: 1, calls: [`init ${addressOf(1)}`] });
  expect(scene.daemons.at(addressOf(1))?.armed?.body.imageCommand).toEqual(commandOf(app));
});

test("of an image that is exchanged in place it is that of the new one", async () => {
  await using world = await embeddedClaimScene({ pool: poolThatRuns() });
  const { scene } = world;
  const process = await scene.process();
  await settle();
  const creating = process.create({ image: "registry.invalid/other:1" });
  await settle();
  await scene.nodeStarts();
  await world.clock.step(1000);
  await creating;
  expect(scene.daemons.at(addressOf(1))?.armed?.body.imageCommand).toEqual(commandOf("registry.invalid/other:1"));
});

test("it is neither asked for nor sent where nobody wants it, or the template gives a command", async () => {
  for (const pool of [{}, poolThatRuns({ command: ["/run"] })]) {
    await using world = await embeddedClaimScene({ pool });
    const asked = { commandOf: () => Promise.reject(new Error("nobody wants it")) };
    const process = await world.scene.process({ commands: asked });
    await process.create();
    expect(world.scene.daemons.at(addressOf(1))?.armed?.body).not.toHaveProperty("imageCommand");
  }
});

test("a pod of an earlier template, which has a command of its own, is not told to run another", async () => {
  await using world = await embeddedClaimScene({ pool: poolThatRuns({ command: ["/run"] }) });
  const { scene } = world;
  const body = { spec: { template: { spec: { containers: [{ name: "main", image: app }] } } } };
  await scene.client.patch(SandboxPools, { namespace: "ns", name: "py" }, { type: "merge", body });
  const process = await scene.process();
  await process.create();
  expect(scene.daemons.at(addressOf(1))?.armed?.body).not.toHaveProperty("imageCommand");
});

test("an image of which it cannot be learnt fails the create before a pod is taken", async () => {
  await using world = await embeddedClaimScene({ pool: poolThatRuns() });
  const { scene } = world;
  const commands = { commandOf: () => Promise.reject(new ImageError("unreachable", "the registry does not answer")) };
  const process = await scene.process({ commands });
  await expect(process.create()).rejects.toMatchObject({ code: "image_unavailable", message: "the registry does not answer" });
  expect(await scene.pod()).toMatchObject({ metadata: { labels: { "agentbox.navix.sh/sandbox-phase": "idle" } } });
});

test("a tenant's own choice is looked up without the pool's credentials, and what it runs too", async () => {
  await using world = await embeddedClaimScene({ pool: poolThatRuns() });
  const { scene } = world;
  const asked: string[] = [];
  const refused = new ImageError("unauthorized", "the registry wants credentials");
  const process = await scene.process({
    digests: {
      resolve: async (image, { puller }) => {
        asked.push(`${image} ${puller?.choice ?? "own"}`);
        if (puller?.choice === "public") throw refused;
        return { digest: image.slice(image.indexOf("@") + 1) };
      },
    },
    commands: { commandOf: async (image, _digest, { puller }) => (asked.push(`runs ${puller?.choice ?? "own"}`), commandOf(image)) },
  });
  const pinned = `@sha256:${"b".repeat(64)}`;
  await expect(process.create({ image: `registry.invalid/private${pinned}` })).rejects.toMatchObject({ code: "image_unavailable" });
  const creating = process.create({ image: `registry.invalid/app${pinned}` });
  await settle();
  expect(asked).toEqual([`registry.invalid/private${pinned} public`, `registry.invalid/app${pinned} access`, "runs access"]);
  await scene.nodeStarts();
  await world.clock.step(1000);
  await creating;
});
