/** Checkpoints over the embedded store and stepped time: the real controller and services, and images that a test lets come or fail. */
import { Registry } from "prom-client";
import { startCheckpointController } from "#controllers/checkpoint/reconcile-checkpoint.ts";
import type { CheckpointImages, CheckpointOrder } from "#engine-port/checkpoint-images.ts";
import { embeddedAbilities } from "#engines/embedded/abilities.ts";
import type { Controller } from "#kube/controller/controller.ts";
import { prometheusMetrics } from "#lib/metrics.ts";
import { type Checkpoint, Checkpoints } from "#model/checkpoint.ts";
import { checkpointImage } from "#model/checkpoint-image.ts";
import { type CheckpointService, openCheckpointService } from "#services/checkpoints/checkpoint-service.ts";
import type { ForkDeps } from "#services/checkpoints/fork-sandbox.ts";
import { namespace, ServiceScene } from "./service-scene.ts";
import { settle } from "./stepped-clock.ts";

export const aDigest = `sha256:${"a".repeat(64)}`;
export const baseImage = `registry.invalid/app:1@${aDigest}`;

/** Images that are only names. What `hold` gives is waited for by every take. */
export class NamedImages implements CheckpointImages {
  readonly orders: CheckpointOrder[] = [];
  readonly kept = new Set<string>();
  failure: Error | undefined;
  hold: Promise<void> = Promise.resolve();

  async take(order: CheckpointOrder): Promise<{ image: string; sizeBytes: number; frozenMs: number }> {
    this.orders.push(order);
    await this.hold;
    if (this.failure !== undefined) throw this.failure;
    this.kept.add(order.id);
    return { image: `${checkpointImage(order.id)}@${aDigest}`, sizeBytes: 7, frozenMs: 1 };
  }

  async remove(id: string): Promise<void> {
    this.kept.delete(id);
  }

  async list(): Promise<readonly string[]> {
    return [...this.kept];
  }
}

export class CheckpointScene implements AsyncDisposable {
  readonly services: ServiceScene;
  readonly images = new NamedImages();
  readonly checkpoints: CheckpointService;
  #controller: Controller;

  private constructor(services: ServiceScene, more: Partial<ForkDeps>) {
    this.services = services;
    const none = async () => Promise.reject(new Error("no sandboxes are made here"));
    const noClaims: ForkDeps["claims"] = { create: none, end: none };
    const { client, cache, history, clock, log, abilities } = services;
    this.checkpoints = openCheckpointService({ client, cache, history, clock, log, abilities, claims: noClaims, ...more });
    this.#controller = this.#start();
  }

  static async open(more: Partial<ForkDeps> = {}): Promise<CheckpointScene> {
    return new CheckpointScene(await ServiceScene.open(), more);
  }

  #start(): Controller {
    const { client, cache, history, clock, log } = this.services;
    const never = (): never => {
      throw new Error("not asked here");
    };
    return startCheckpointController({
      client,
      cache,
      history,
      clock,
      log,
      random: () => 0.5,
      metrics: prometheusMetrics(new Registry()),
      abilities: embeddedAbilities,
      checkpoints: this.images,
      digests: { resolve: never },
      maxUses: 100,
      publicKey: "",
    });
  }

  /** The process ends, and another one begins. */
  async restart(): Promise<void> {
    await this.#controller.stop();
    this.#controller = this.#start();
    await settle();
  }

  /** A running sandbox of red's ann. */
  async sandbox(id: string, image = baseImage): Promise<void> {
    await this.services.sandbox(id, { container: { image } });
  }

  async make(name: string, spec: Partial<Checkpoint["spec"]> = {}, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.services.client.create(Checkpoints, { metadata: { namespace, name, labels }, spec: { sandboxID: "i-1", ...spec } });
    await settle();
  }

  /** Undefined when it is gone. */
  async stored(name: string): Promise<Checkpoint | undefined> {
    const { items } = await this.services.client.list(Checkpoints, { namespace });
    return items.find(({ metadata }) => metadata.name === name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#controller.stop();
    await this.services[Symbol.asyncDispose]();
  }
}
