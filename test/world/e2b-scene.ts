/** The API that E2B's SDKs speak, over use cases that answer what a test wants; requests without sockets. */
import { Registry } from "prom-client";
import { apiServer } from "#api/http/api-server.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import type { SandboxPool } from "#model/sandbox-pool.ts";
import type { Caller } from "#services/caller.ts";
import type {
  CreateSandbox,
  EgressChange,
  ListSandboxes,
  LiveFilter,
  SandboxDetail,
  SandboxService,
  TimeoutChange,
} from "#services/sandbox-service.ts";
import type { CheckpointService } from "#services/checkpoints/checkpoint-service.ts";
import type { CheckpointView } from "#services/checkpoints/checkpoint-view.ts";
import type { ShownSource } from "#services/creating/create-sources.ts";
import { ServiceError } from "#services/service-error.ts";
import type { WebhookService } from "#services/webhooks/webhook-service.ts";
import type { Capacity } from "#services/usage/pod-use.ts";
import type { SandboxUsage } from "#services/usage/sandbox-usage.ts";
import type { UsageSample } from "#services/usage/usage-log.ts";
import { only } from "./native-api.ts";
import { recordedLog } from "./recorded-log.ts";
import { SteppedClock } from "./stepped-clock.ts";
import { e2bFace } from "#api/e2b/e2b-face.ts";
import { noVolumes } from "./no-volumes.ts";

export const running: SandboxDetail = {
  sandboxId: "abc",
  namespace: "default",
  poolName: "base",
  templateName: "base",
  podName: "base-1",
  team: "red",
  user: "",
  status: "Running",
  claimedAt: "2026-01-01T00:00:00.000Z",
  startedAt: "2026-01-01T00:00:01.000Z",
  endTime: "2026-01-01T00:05:00.000Z",
  containerImages: {},
  metadata: { task: "7" },
  cpu: "1500m",
  memory: "1Gi",
  disk: "3Gi",
};

const caller: Caller = { role: "tenant", team: "red", keyId: "k" };
const pool: SandboxPool = { metadata: { name: "base", namespace: "default", uid: "u" }, spec: { replicas: 1, templateName: "base" } };

const limits: Capacity = { cpus: 1.5, memoryBytes: 2 ** 30, diskBytes: 2 ** 31 };
const sample: UsageSample = {
  atMs: Date.parse("2026-01-01T00:01:00Z"),
  cpuPercent: 12.5,
  memoryBytes: 4096,
  cacheBytes: 1024,
  diskBytes: 2048,
};

/** E2B's face over use cases that note what they are asked. */
export class E2bScene {
  readonly asked: unknown[] = [];
  /** What counts were asked for. */
  readonly counted: LiveFilter[] = [];
  detail = running;
  source: ShownSource = { kind: "pool", object: pool, pools: [pool], defaultPool: pool };

  readonly sandboxes: SandboxService = only({
    create: async (_: Caller, command: CreateSandbox) => {
      this.asked.push(command);
      return { sandbox: this.detail, accessToken: "t" };
    },
    view: async (_: Caller, id: string) => {
      if (id !== "abc") throw new ServiceError("not_found", `there is no sandbox "${id}"`);
      return this.detail;
    },
    end: async (_: Caller, id: string) => void this.asked.push(["end", id]),
    list: async (_: Caller, query: ListSandboxes) => {
      this.asked.push(query);
      return { sandboxes: [running], next: "more" };
    },
    countLive: (_: Caller, filter: LiveFilter) => {
      this.counted.push(filter);
      return 7;
    },
    setTimeouts: async (_: Caller, id: string, change: TimeoutChange) => {
      this.asked.push([id, change]);
      return this.detail;
    },
    pause: async (...[, , , { memory = true } = {}]: Parameters<SandboxService["pause"]>) => {
      this.asked.push(memory ? "pause" : "pause without memory");
      return this.detail;
    },
    resume: async () => {
      this.asked.push("resume");
      return this.detail;
    },
    setEgress: async (_: Caller, id: string, { egress }: EgressChange) => {
      this.asked.push([id, egress]);
      return this.detail;
    },
    logs: async function* () {
      yield Buffer.from("one\ntw");
      yield Buffer.from("o\n");
    },
  });

  readonly checkpoint: CheckpointView = {
    id: "cp-aaaaaaaaaaaaaaaaaaaa",
    purpose: "snapshot",
    sandboxId: "abc",
    phase: "Succeeded",
    team: "red",
    user: "",
    createdAt: "2026-01-01T00:00:00.000Z",
  };

  readonly checkpoints: CheckpointService = {
    take: async (_, command) => {
      this.asked.push(command);
      return { ...this.checkpoint, ...(command.alias === undefined ? {} : { alias: command.alias }) };
    },
    get: async () => this.checkpoint,
    list: (_, query) => {
      this.asked.push(query);
      return { checkpoints: [this.checkpoint] };
    },
    delete: async (_, name) => {
      this.asked.push(name);
      if (name !== this.checkpoint.id) throw new ServiceError("not_found", `there is no checkpoint ${name}`);
    },
    fork: async (_, command) => {
      this.asked.push(command);
      return [{ sandbox: this.detail }, { failure: { code: "no_capacity", message: "there is no pod" } }];
    },
  };
  /** What the next request of webhooks is to have. */
  webhooks: WebhookService = {} as WebhookService;

  readonly usage: SandboxUsage = {
    of: async (_, id, span) => {
      this.asked.push([id, span]);
      return { limits, samples: [sample, { ...sample, atMs: sample.atMs + 5000 }] };
    },
    latest: async (_, ids) => {
      this.asked.push(ids);
      return new Map([["abc", { limits, sample }]]);
    },
  };

  async ask(line: string, body?: unknown, more: Readonly<Record<string, string>> = {}) {
    const [method = "GET", url = "/"] = line.split(" ");
    const app = await apiServer({
      keys: { authenticate: (key) => (key === "key" ? caller : undefined), whenEnded: () => () => {} },
      clock: new SteppedClock(),
      log: recordedLog().log,
      metrics: prometheusMetrics(new Registry()),
      rateLimit: { perSecond: 0, burst: 0 },
      ready: () => true,
      metricsText: async () => ({ contentType: "text/plain", text: "" }),
      faces: [
        e2bFace({
          sandboxes: this.sandboxes,
          checkpoints: this.checkpoints,
          webhooks: this.webhooks,
          sources: { get: () => this.source, list: () => [this.source] },
          usage: this.usage,
          volumes: noVolumes,
          statistics: async () => ({
            live: { total: 1, byStatus: [], byPool: [{ key: "base", count: 1 }] },
            since: "2000-01-01T00:00:00.000Z",
            ended: { total: 2, byStatus: [], byPool: [{ key: "base", count: 2 }], byDay: [] },
          }),
          sizeOf: () => ({ cpu: "500m", memory: "2Gi", disk: "4Gi" }),
          accessTokenOf: (id) => `access-${id}`,
          trafficTokenOf: (id) => `traffic-${id}`,
          domain: "box.test:8443",
          maxTimeoutSeconds: 3600,
        }),
      ],
    });
    const payload = body === undefined ? {} : { payload: body as object };
    const answer = await app.inject({ method: method as "GET", url, headers: { "x-api-key": "key", ...more }, ...payload });
    await app.close();
    return {
      status: answer.statusCode,
      json: answer.body === "" ? undefined : (JSON.parse(answer.body) as unknown),
      headers: answer.headers,
    };
  }
}
