/** A node that runs real containers on this machine, for tests and benchmarks: object store, agent, runc. Needs root. */
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Registry } from "prom-client";
import { eraseEmbeddedNode, startEmbeddedNode, type EmbeddedNode } from "../../src/cmd/machine/embedded-node.ts";
import { startControlPlane, startHistory } from "../../src/cmd/parts/control-plane.ts";
import { httpDaemonClient } from "#daemon-client/http-daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import type { ExecCommand } from "#kube/pod-access.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { openObjectStore, type ObjectStore } from "#engines/embedded/store/object-store.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { systemClock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { labelKeys } from "#model/keys.ts";
import { Pods, type Pod, type PodSpec } from "#model/pod.ts";
import { loopbackRegistries } from "./fake-registry.ts";
import { claimBook } from "./claim-books.ts";

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RealNode extends AsyncDisposable {
  readonly home: string;
  readonly store: ObjectStore;
  readonly node: EmbeddedNode;
  /** The control plane's: what arms a daemon is signed with it. */
  readonly privateKey: KeyObject;
  /** A pod of the image `host` with the daemon in it, unless the spec says otherwise; resolves when it is ready. */
  sandbox(name: string, spec?: Partial<PodSpec>): Promise<Pod>;
  ready(name: string): Promise<Pod>;
  /** Runs a command in a pod as a user (root when left out) and collects what it says. */
  run(pod: string, argv: readonly string[], more?: Omit<ExecCommand, "argv">): Promise<Output>;
  /** Deletes the pod and resolves when nothing of it is left in the store. */
  remove(name: string): Promise<void>;
}

const namespace = "default";

export async function startRealNode(options: { readonly pools?: boolean } = {}): Promise<RealNode> {
  const home = await mkdtemp(join(tmpdir(), "agentbox-node-"));
  await writeFile(join(home, "registries.json"), JSON.stringify(loopbackRegistries));
  const log = openLog({ clock: systemClock, out: { write: () => true } });
  const metrics = prometheusMetrics(new Registry());
  const { privateKey } = generateKeyPairSync("ed25519");
  const publicKey = publicKeyText(privateKey);
  const store = openObjectStore({ file: join(home, "objects.db"), kinds: embeddedKindRules(), clock: systemClock });
  const parts = new AsyncDisposableStack();
  parts.defer(() => rm(home, { recursive: true, force: true }));
  parts.defer(() => eraseEmbeddedNode({ home, clock: systemClock, log }));
  parts.defer(() => store.close());
  const shared = { clock: systemClock, log, metrics, publicKey };
  const node = parts.use(await startEmbeddedNode({ ...shared, home, store }));
  if (options.pools === true) {
    const { history } = parts.use(await startHistory({ ...shared, location: join(home, "history.db") }));
    const cache = new SandboxCache({ ...shared, client: store }, { claims: claimBook() });
    parts.defer(() => cache.stop());
    const http = parts.adopt(openPodHttp(), (pods) => pods.close());
    const daemon = httpDaemonClient({ http, privateKey });
    parts.use(startControlPlane({ ...shared, abilities: embeddedAbilities, cache, history, daemon, client: store, digests: node.digests }));
    await cache.run();
  }
  return {
    home,
    store,
    node,
    privateKey,
    sandbox: async (name, spec = {}) => {
      const containers = [
        { name: "main", image: "host", readinessProbe: { httpGet: { path: "/health", port: 49_983 }, periodSeconds: 1 } },
      ];
      // The label of a pool is what brings the daemon in; no controller looks after this one.
      const metadata = { namespace, name, labels: { [labelKeys.sandboxPool]: "by-hand" } };
      await store.create(Pods, { metadata, spec: { terminationGracePeriodSeconds: 1, containers, ...spec } });
      return ready(store, name);
    },
    ready: (name) => ready(store, name),
    run: async (pod, argv, more = {}) => {
      const session = await node.agent.exec({ pod: { namespace, name: pod }, command: { argv, ...more } });
      session.stdin.end();
      const [stdout, stderr, code] = await Promise.all([text(session.stdout), text(session.stderr), session.exitCode]);
      return { code, stdout, stderr };
    },
    remove: async (name) => {
      const { resourceVersion } = await store.list(Pods, { namespace, limit: 1 });
      await store.delete(Pods, { namespace, name });
      for await (const event of store.watch(Pods, { namespace, resourceVersion, fieldSelector: `metadata.name=${name}` })) {
        if (event.type === "DELETED") return;
      }
    },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

async function ready(store: ObjectStore, name: string): Promise<Pod> {
  for await (const event of store.watch(Pods, { namespace, fieldSelector: `metadata.name=${name}` })) {
    if (event.type === "BOOKMARK") continue;
    if (event.type === "DELETED") throw new Error(`${name} was deleted before it was ready`);
    const { phase, reason, message, conditions } = event.object.status ?? {};
    if (phase === "Failed") throw new Error(`${name} failed: ${reason} ${message}`);
    if (conditions?.some((condition) => condition.type === "Ready" && condition.status === "True") === true) return event.object;
  }
  throw new Error("the watch ended");
}
