/** Creates for nobody, so that the code of the next one that counts is compiled when it comes. */
import { randomUUID } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { abortable } from "#lib/abortable.ts";
import type { MonotonicClock } from "#lib/clock.ts";
import { header } from "#envd-protocol/arming.ts";
import { Pods } from "#model/pod.ts";
import { createPod, makeReady } from "./idle-pods.ts";
import { loopbackServer } from "./loopback-server.ts";
import { openStage, type Stage } from "./stage.ts";

export interface Rehearsal {
  readonly clock: MonotonicClock;
  readonly creates: number;
  /** Asked before every few of them. */
  readonly goesOn: () => boolean;
}

/** Nothing in it takes longer than some milliseconds, unless something is wrong. */
const patienceMs = 5_000;
/** As bursts do. A daemon answers for one pod at a time, so there are as many of these. */
const atOnce = 8;

/** Resolves with how many there were. Nothing of it is left but code. */
export async function rehearseCreates({ clock, creates, goesOn }: Rehearsal): Promise<number> {
  await using parts = new AsyncDisposableStack();
  const stage = parts.use(await openStage(clock));
  const daemons: StageDaemon[] = [];
  while (daemons.length < atOnce) daemons.push(parts.use(await openDaemon()));
  let made = 0;
  for (; made < creates && goesOn(); made += atOnce) await playScene(stage, daemons, `scene-${made}`);
  return made;
}

/** As many pods as daemons: they become idle, are all claimed at once, and go. */
async function playScene({ store, pool, create }: Stage, daemons: readonly StageDaemon[], name: string): Promise<void> {
  const pods = await Promise.all(daemons.map((daemon, index) => createPod(store, pool, `${name}-${index}`, daemon.port)));
  const asked = daemons.map((daemon, index) => daemon.answersFor(pods[index]?.metadata.uid ?? ""));
  for (const pod of pods) await makeReady(store, pod, "127.0.0.1");
  // Who they are is known before they are claimed, as of pods that have waited for a while.
  await abortable(Promise.all(asked), AbortSignal.timeout(patienceMs));
  await turn();
  await Promise.all(pods.map(() => create()));
  for (const { metadata } of pods) {
    await store.delete(Pods, { namespace: pool.namespace, name: metadata.name ?? "" }, { gracePeriodSeconds: 0 });
  }
}

interface StageDaemon extends AsyncDisposable {
  readonly port: number;
  /** From now on it is this pod's. Resolves when somebody has asked who it is. */
  answersFor(podUid: string): Promise<void>;
}

async function openDaemon(): Promise<StageDaemon> {
  let own = "";
  let asked = Promise.withResolvers<void>();
  const server = await loopbackServer((request, response) => {
    if (request.url === "/health") {
      response.setHeader(header.podUid, own);
      response.setHeader(header.bootId, randomUUID());
      response.setHeader(header.armed, "no");
      response.once("finish", () => asked.resolve());
    }
    request.resume();
    response.writeHead(204).end();
  });
  return {
    port: server.port,
    answersFor: (podUid) => {
      own = podUid;
      asked = Promise.withResolvers();
      return asked.promise;
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
