import { isDeepStrictEqual } from "node:util";
import type { InitBody } from "#envd-protocol/arming.ts";

/**
 * The sandbox that this daemon serves. It is armed once per boot: the same order again changes nothing, any other is refused. Once retired, the daemon
 * serves no sandbox. It still reports its sandbox's id, so that its container is not given to another sandbox.
 */
export class ArmedState {
  #armed: { readonly sandboxId: string; readonly init: InitBody } | undefined;
  #isRetired = false;
  readonly #onArmed: (() => void)[] = [];
  readonly #onRetired: (() => void)[] = [];

  /** Called once, at the first arming. */
  onArmed(heard: () => void): void {
    this.#onArmed.push(heard);
  }

  /** Called once, before anything of the sandbox is ended. */
  onRetired(heard: () => void): void {
    this.#onRetired.push(heard);
  }

  get isRetired(): boolean {
    return this.#isRetired;
  }

  get sandboxId(): string | undefined {
    return this.#armed?.sandboxId;
  }

  get init(): InitBody {
    return this.#armed?.init ?? {};
  }

  arm(sandboxId: string, init: InitBody): "armed" | "taken" {
    if (this.#isRetired) return "taken";
    // Also for its own sandbox: a captured order must never restore older values.
    if (this.#armed !== undefined) return isDeepStrictEqual(this.#armed, { sandboxId, init }) ? "armed" : "taken";
    this.#armed = { sandboxId, init };
    for (const heard of this.#onArmed.splice(0)) heard();
    return "armed";
  }

  /** Also before arming: an order that arms it may be in flight. */
  retire(sandboxId: string): "retired" | "taken" {
    if (this.#armed !== undefined && this.#armed.sandboxId !== sandboxId) return "taken";
    this.#armed = { sandboxId, init: {} };
    this.#isRetired = true;
    for (const heard of this.#onRetired.splice(0)) heard();
    return "retired";
  }
}
