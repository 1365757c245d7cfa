import { expect, test } from "vitest";
import { sandboxPhaseOf } from "#model/claimed-pod.ts";
import { embeddedClaimScene } from "../../../test/world/embedded-scenes.ts";
import { refusal } from "../../../test/world/refusal.ts";
import { settle } from "../../../test/world/stepped-clock.ts";

test("a request that is given up before its claim is sent claims nothing, and the pod is as clean as before", async () => {
  await using world = await embeddedClaimScene();
  const { scene, clock } = world;
  // The boot of the container that will go has to be asked for first, and that takes its time.
  scene.daemons.delayMs = 5_000;
  const process = await scene.process();
  await settle();
  const caller = new AbortController();
  const creating = refusal(process.create({ containerImages: { main: "registry.invalid/idle:1" } }, { signal: caller.signal }));
  await clock.step(100);
  expect(sandboxPhaseOf(await scene.pod())).toBe("idle");
  caller.abort();
  expect(await creating).toMatchObject({ code: "canceled" });
  await clock.step(10_000);
  expect(sandboxPhaseOf(await scene.pod()), "not claimed, and not on its way to be cleaned").toBe("idle");
});
