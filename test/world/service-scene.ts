/** The use cases over the embedded store, a history in memory and stepped time, with sandboxes that a test puts there as they are to be. */
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import { embeddedKindRules } from "#engines/embedded/admission/all-rules.ts";
import { type ObjectStore, openObjectStore } from "#engines/embedded/store/object-store.ts";
import { SandboxCache } from "#read-model/sandbox-cache.ts";
import { Namespaces } from "#model/core-kinds.ts";
import { annotationKeys, labelKeys, type SandboxPhase } from "#model/keys.ts";
import type { JsonObject } from "#model/meta.ts";
import { type Container, type Pod, Pods, type PodStatus } from "#model/pod.ts";
import type { SandboxRecord } from "#model/sandbox-record.ts";
import type { Caller } from "#services/caller.ts";
import { ExecActivity } from "#services/inside/exec-activity.ts";
import { LiveSandboxes } from "#services/reading/live-sandboxes.ts";
import { isServiceError, type ServiceError } from "#services/service-error.ts";
import type { HistoryStore } from "#store/history-store.ts";
import { openSqliteHistory } from "#store/sqlite/store.ts";
import { FakePodAccess } from "./fake-pod-access.ts";
import { recordedLog } from "./recorded-log.ts";
import { settle, SteppedClock } from "./stepped-clock.ts";
import { claimBook } from "./claim-books.ts";

export const admin: Caller = { role: "admin", team: "", keyId: "k-admin" };
export const ann: Caller = { role: "tenant", team: "red", user: "ann", keyId: "k-ann" };
export const bob: Caller = { role: "tenant", team: "red", user: "bob", keyId: "k-bob" };
export const redTeam: Caller = { role: "tenant", team: "red", keyId: "k-red" };
export const eve: Caller = { role: "tenant", team: "blue", user: "eve", keyId: "k-eve" };
/** The caller of a key without a team. */
export const nobody: Caller = { role: "tenant", team: "", keyId: "k-nobody" };

export interface SandboxShape {
  readonly nodeName?: string;
  readonly pool?: string;
  readonly phase?: SandboxPhase;
  readonly team?: string;
  readonly user?: string;
  readonly claimedAt?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly status?: Partial<PodStatus>;
  /** More about its container. */
  readonly container?: Partial<Container>;
}

export const namespace = "default";

export class ServiceScene implements AsyncDisposable {
  readonly clock: SteppedClock;
  readonly client: ObjectStore;
  readonly cache: SandboxCache;
  readonly history: HistoryStore;
  readonly live: LiveSandboxes;
  readonly activity: ExecActivity;
  readonly pods = new FakePodAccess();
  readonly logged = recordedLog();
  readonly log = this.logged.log;
  readonly namespace = namespace;
  readonly abilities = embeddedAbilities;

  private constructor(clock: SteppedClock, client: ObjectStore, history: HistoryStore) {
    this.clock = clock;
    this.client = client;
    this.history = history;
    this.cache = new SandboxCache({ client, clock, log: this.log }, { limitsNamespace: namespace, claims: claimBook() });
    this.live = new LiveSandboxes(this.cache.shown);
    this.activity = new ExecActivity(clock);
  }

  static async open(): Promise<ServiceScene> {
    const clock = new SteppedClock();
    const client = openObjectStore({ file: ":memory:", kinds: embeddedKindRules(), clock });
    const names = (await client.list(Namespaces)).items.map(({ metadata }) => metadata.name);
    if (!names.includes(namespace)) await client.create(Namespaces, { metadata: { name: namespace } });
    const scene = new ServiceScene(clock, client, await openSqliteHistory({ file: ":memory:", clock, durability: "process-crash" }));
    await scene.cache.run();
    return scene;
  }

  get now(): string {
    return new Date(this.clock.now()).toISOString();
  }

  /** A running sandbox of red's ann on a ready pod that is called as it is, unless told otherwise. Seen by the cache at once. */
  async sandbox(id: string, shape: SandboxShape = {}): Promise<Pod> {
    const { pool = "py", phase = "running", team = "red", user = "ann", claimedAt = this.now, annotations, labels, nodeName } = shape;
    const owner = { ...(team !== "" && { [labelKeys.team]: team }), ...(user !== "" && { [labelKeys.user]: user }) };
    await this.client.create(Pods, {
      metadata: {
        namespace,
        name: `pod-${id}`,
        labels: {
          [labelKeys.sandboxPool]: pool,
          [labelKeys.sandboxPhase]: phase,
          [labelKeys.sandboxId]: id,
          ...owner,
          ...labels,
        },
        annotations: { [annotationKeys.claimedAt]: claimedAt, ...annotations },
      },
      spec: {
        containers: [{ name: "main", image: "registry.invalid/app:1", ...shape.container }],
        ...(nodeName === undefined ? {} : { nodeName }),
      },
    });
    return this.report(id, shape.status);
  }

  /** What the node says about the pod of a sandbox. */
  async report(id: string, status: Partial<PodStatus> = {}): Promise<Pod> {
    const conditions = [{ type: "Ready", status: "True" }];
    const body = { status: { phase: "Running", podIP: "10.0.0.7", conditions, ...status } } as unknown as JsonObject;
    return this.#seen(await this.client.patch(Pods, podKey(id), { type: "merge", body }, { subresource: "status" }));
  }

  /** Null takes a key away. */
  async change(id: string, { labels = {}, annotations = {} }: ChangedKeys): Promise<Pod> {
    const body = { metadata: { labels, annotations } };
    return this.#seen(await this.client.patch(Pods, podKey(id), { type: "merge", body }));
  }

  /** The same, and from now on the cache learns nothing but what it is told. */
  async changeUnseen(id: string, { labels = {}, annotations = {} }: ChangedKeys): Promise<Pod> {
    await this.cache.stop();
    return this.client.patch(Pods, podKey(id), { type: "merge", body: { metadata: { labels, annotations } } });
  }

  /** As a controller does it: the record first, then the pod forgets. */
  async end(id: string, more: Partial<SandboxRecord> = {}): Promise<void> {
    const { labels = {}, annotations = {} } = (await this.client.get(Pods, podKey(id))).metadata;
    const owner = { team: labels[labelKeys.team] ?? "", user: labels[labelKeys.user] ?? "" };
    await this.record(id, { ...owner, claimedAt: annotations[annotationKeys.claimedAt] ?? this.now, ...more });
    await this.change(id, {
      labels: { [labelKeys.sandboxId]: null, [labelKeys.team]: null, [labelKeys.user]: null, [labelKeys.sandboxPhase]: "idle" },
      annotations: { [annotationKeys.claimedAt]: null },
    });
  }

  /** One that has ended, of red's ann unless told otherwise. */
  async record(id: string, more: Partial<SandboxRecord> = {}): Promise<void> {
    await this.history.put({
      sandboxId: id,
      namespace,
      poolName: "py",
      podName: `pod-${id}`,
      team: "red",
      user: "ann",
      status: "Completed",
      stopReason: "Completed",
      claimedAt: this.now,
      terminatedAt: this.now,
      containerImages: { main: "registry.invalid/app:1" },
      metadata: {},
      ...more,
    });
  }

  async stored(id: string): Promise<Pod> {
    return this.client.get(Pods, podKey(id));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.live[Symbol.dispose]();
    await this.cache.stop();
    await settle();
    await this.history.close();
    this.client.close();
  }

  #seen(pod: Pod): Pod {
    this.cache.pods.remember(pod);
    return pod;
  }
}

interface ChangedKeys {
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly annotations?: Readonly<Record<string, string | null>>;
}

export function podKey(id: string): { namespace: string; name: string } {
  return { namespace, name: `pod-${id}` };
}

/** What a use case answered instead of a result; one that succeeds fails the test. */
export async function failureOf(work: Promise<unknown>): Promise<ServiceError> {
  try {
    await work;
  } catch (error) {
    if (isServiceError(error)) return error;
    throw error;
  }
  throw new Error("the use case succeeded where it should have failed");
}

/** Code and words without the id that was asked for: two that are equal tell a caller nothing apart. */
export function wordsOf(error: ServiceError, id: string): string {
  return `${error.code}: ${error.message.replaceAll(id, "…")} ${JSON.stringify(error.details).replaceAll(id, "…")}`;
}
