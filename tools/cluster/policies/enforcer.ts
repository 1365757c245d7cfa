/**
 * Keeps the table of policies as the cluster wants it: renders it anew after every change and loads it where that made a
 * difference. Without policies pods come and go and nothing is loaded. When it ends the table stays: a restart opens nothing.
 */
import type { Clock, Timer } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { type ClusterView, isolate } from "./isolate.ts";
import { renderPolicies } from "./ruleset.ts";

export interface EnforcerDeps {
  /** Undefined until all of it has been read once. */
  readonly view: () => ClusterView | undefined;
  readonly table: PolicyTable;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface PolicyTable {
  load(text: string): Promise<void>;
  isThere(): Promise<boolean>;
}

/** What changes together is loaded together. */
const settleMs = 20;
const retryMs = 1000;
/** Others flush the firewall of a machine without asking. */
const lookMs = 10_000;

export class Enforcer {
  readonly #deps: EnforcerDeps;
  #loaded: string | undefined;
  #pending: Timer | undefined;
  #looking: Timer | undefined;
  #loading = false;
  #stopped = false;

  constructor(deps: EnforcerDeps) {
    this.#deps = deps;
    this.#lookLater();
  }

  /** Something of the view is another. */
  changed(afterMs = settleMs): void {
    if (this.#stopped || this.#pending !== undefined) return;
    this.#pending = this.#deps.clock.after(afterMs, () => {
      this.#pending = undefined;
      void this.#load();
    });
  }

  /** True while the table is there and is the one that the cluster wants, as far as is known. */
  async isHealthy(): Promise<boolean> {
    return this.#loaded !== undefined && (await this.#isThere());
  }

  stop(): void {
    this.#stopped = true;
    this.#pending?.cancel();
    this.#looking?.cancel();
  }

  async #load(): Promise<void> {
    const view = this.#deps.view();
    if (view === undefined) return;
    // Two at once could end in the wrong order.
    if (this.#loading) return this.changed();
    this.#loading = true;
    try {
      const isolations = isolate(view);
      const text = renderPolicies(isolations);
      if (text === this.#loaded) return;
      await this.#deps.table.load(text);
      this.#loaded = text;
      const count = (direction: "Ingress" | "Egress"): number => isolations[direction].flatMap(({ addresses }) => addresses).length;
      this.#deps.log.info({ policies: view.policies.length, ingress: count("Ingress"), egress: count("Egress") }, "policies loaded");
    } catch (error) {
      this.#loaded = undefined;
      this.#deps.log.error({ error }, "policies could not be loaded");
      this.changed(retryMs);
    } finally {
      this.#loading = false;
    }
  }

  #lookLater(): void {
    this.#looking = this.#deps.clock.after(lookMs, () => void this.#isThere().finally(() => this.#stopped || this.#lookLater()));
  }

  async #isThere(): Promise<boolean> {
    if (await this.#deps.table.isThere()) return true;
    if (this.#loaded !== undefined) this.#deps.log.warn({}, "the table of policies is gone; it is loaded anew");
    this.#loaded = undefined;
    this.changed();
    return false;
  }
}
