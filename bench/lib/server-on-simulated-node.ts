/**
 * AgentBox in one process, as `agentbox up` has it, with a node whose containers are simulated and daemons that take every order at once.
 * A process of its own, started by `fork`: tells its parent where it is, and how many pods there are when asked for "count".
 */
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { createHash, generateKeyPairSync } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DaemonClient } from "#daemon-client/daemon-client.ts";
import { openPodHttp } from "#daemon-client/pod-http.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { startNodeAgent } from "#engines/embedded/node/agent/agent.ts";
import { openObjectStore } from "#engines/embedded/store/object-store.ts";
import { publicKeyText } from "#envd-protocol/arming.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { systemClock as clock } from "#lib/clock.ts";
import { openLog } from "#lib/log.ts";
import { noTracing } from "#lib/tracing.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { localClusterID } from "#model/keys.ts";
import { SandboxTemplates } from "#model/sandbox-template.ts";
import { ExecActivity } from "#services/inside/exec-activity.ts";
import { pressureOf, startControlPlane, startHistory } from "../../src/cmd/parts/control-plane.ts";
import { openSandboxServices } from "../../src/cmd/parts/sandbox-services.ts";
import { accessOver, serveApi } from "../../src/cmd/parts/serve-api.ts";
import { openServerMetrics } from "../../src/cmd/parts/server-metrics.ts";
import { SimulatedPodRuntime } from "../../test/world/simulated-pod-runtime.ts";
import { claimBook } from "../../test/world/claim-books.ts";

const digest = (text: string): `sha256:${string}` => `sha256:${createHash("sha256").update(text).digest("hex")}`;
const config = { env: [], entrypoint: ["/bin/app"], cmd: [], user: "", workingDir: "", labels: {} };

const home = await mkdtemp(join(tmpdir(), "agentbox-large-"));
const file = join(home, "objects.db");
const log = openLog({ clock, out: { write: (line: string) => (line.startsWith('{"level":"error"') ? process.stderr.write(line) : true) } });
// Its own history would only be forgotten after minutes.
const store = openObjectStore({ file, kinds: embeddedKindRules(), clock, log, history: { revisions: 1000, ms: 1000 } });
for (const name of ["default", "kube-system"]) await store.create(Namespaces, { metadata: { name } }).catch(() => {});
const metrics = openServerMetrics();
const cache = new SandboxCache({ client: store, clock, log }, { systemNamespace: "kube-system", claims: claimBook() });
const { privateKey } = generateKeyPairSync("ed25519");
const publicKey = publicKeyText(privateKey);
const { history } = await startHistory({ location: join(home, "history.db"), clock, log });
const rateLimit = { perSecond: 0, burst: 0 };
const access = accessOver({ client: store, cache, clock, rateLimit });
const runtime = new SimulatedPodRuntime(clock);
const agent = await startNodeAgent({
  client: store,
  binder: store,
  runtime,
  images: {
    ensure: async (reference) => ({ kind: "oci", id: digest(`config ${reference}`), digest: digest(reference), config, layers: [] }),
  },
  network: { httpGet: async () => 200, connect: async () => {} },
  clock,
  log,
  metrics: metrics.metrics,
  nodeName: "local",
  home,
  controlPlaneKey: publicKey,
  hostIP: "192.0.2.1",
});
const uidAt = new Map<string, string>();
cache.pods.onChange((now, before) => {
  const [address, left] = [now?.status?.podIP, before?.status?.podIP];
  // The next pod may have the address before it is heard that this one is gone.
  if (left !== undefined && left !== address && uidAt.get(left) === before?.metadata.uid) uidAt.delete(left);
  if (address !== undefined) uidAt.set(address, now?.metadata.uid ?? "");
});
const daemons: Pick<DaemonClient, "health" | "init" | "retire"> = {
  health: async ({ ip }) => ({ podUid: uidAt.get(ip) ?? "", bootId: "boot" }),
  init: async () => {},
  retire: async () => {},
};
const abilities = embeddedAbilities;
const common = { client: store, cache, history, clock, log, metrics: metrics.metrics, publicKey, maxUses: 100, abilities };
const digests = { resolve: async (image: string) => ({ digest: digest(image) }) };
const services = openSandboxServices({
  ...common,
  ...access,
  digests,
  commands: { commandOf: async () => ({ entrypoint: [], cmd: [] }) },
  pods: agent,
  daemons,
  http: openPodHttp(),
  activity: new ExecActivity(clock),
  privateKey,
  tracer: noTracing,
});
const pressure = pressureOf(services.claims);
startControlPlane({ ...common, digests, pressure, daemon: daemons, clusterID: localClusterID });
await cache.run();
const container = { name: "main", image: "registry.invalid/app:1" };
await store.create(SandboxTemplates, { metadata: { name: "base" }, spec: { template: { spec: { containers: [container] } } } });
const admin = { role: "admin", team: "", keyId: "bench" } as const;
const [adminKey, redKey, blueKey] = [
  await access.keys.create(admin, { role: "admin" }),
  await access.keys.create(admin, { team: "red" }),
  await access.keys.create(admin, { team: "blue" }),
].map(({ key }) => key);
const faces = services.faces("bench.invalid");
const api = await serveApi({ host: "127.0.0.1", port: 0, access, faces, rateLimit, ready: () => true, clock, log, metrics });
process.on("message", (message) => {
  if (message === "count")
    process.send?.({ pods: cache.pods.objects.list().reduce((sum) => sum + 1, 0), violations: runtime.violations.length });
});
process.on("disconnect", () => process.exit(0));
process.send?.({ url: api.address, file, home, adminKey, redKey, blueKey });
