import { expect, test } from "vitest";
import { DaemonError } from "#daemon-client/daemon-client.ts";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import { startRealNode } from "../world/real-node.ts";

/** In sessions of their own, deaf to hang-ups, and one that starts another whenever one ends. */
const hydra = "(setsid sh -c 'while :; do sleep 0.05 & wait; done' >/dev/null 2>&1 &) ; (nohup setsid sleep 4321 >/dev/null 2>&1 &)";
const processes = ["bash", "-c", "ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/comm | sort | uniq -c"];

async function waitingPod(parts: AsyncDisposableStack) {
  const world = parts.use(await startRealNode());
  const http = parts.adopt(openPodHttp(), (pods) => pods.close());
  const { metadata, status } = await world.sandbox("one");
  return {
    world,
    daemons: httpDaemonClient({ http, privateKey: world.privateKey }),
    at: { ip: status?.podIP ?? "", port: 49_983 },
    podUid: metadata.uid ?? "",
  };
}

test("a retired sandbox runs nothing any more but its init and its daemon, whatever was started in it and by whom", async () => {
  await using parts = new AsyncDisposableStack();
  const { world, daemons, at, podUid } = await waitingPod(parts);
  const { bootId } = await daemons.health(at);
  await daemons.init(at, { podUid, bootId, sandboxId: "s1", body: {} });
  for (const user of ["root", "user"]) await world.run("one", ["bash", "-c", hydra], { user });
  expect((await world.run("one", processes)).stdout).toMatch(/sleep/);

  await daemons.retire(at, { podUid, sandboxId: "s1" });
  expect((await world.run("one", processes)).stdout).not.toMatch(/sleep|\bsh$/m);
  expect(await daemons.health(at)).toMatchObject({ bootId, sandboxId: "s1" });
  const again = daemons.init(at, { podUid, bootId, sandboxId: "s2", body: {} });
  await expect(again).rejects.toThrow(DaemonError);
});

test("a sandbox whose daemon has been started anew, and waits, takes the order to end it when it is given again", async () => {
  await using parts = new AsyncDisposableStack();
  const { daemons, at, podUid } = await waitingPod(parts);
  await expect(daemons.retire(at, { podUid, sandboxId: "s1" })).rejects.toMatchObject({ failure: "unreachable" });
  await daemons.retire(at, { podUid, sandboxId: "s1" });
  expect(await daemons.health(at)).toMatchObject({ sandboxId: "s1" });
});
