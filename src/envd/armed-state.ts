import type { InitBody } from "#envd-protocol/arming.ts";

/**
 * For whom this daemon works. It is armed once per boot; arming again for the same sandbox renews what it was given. Once retired it works
 * for nobody any more, and goes on saying whom it worked for: its container is not to be had by anybody else.
 */
export class ArmedState {
  #armed: { readonly sandboxId: string; readonly init: InitBody } | undefined;
  #isRetired = false;
  readonly #onArmed: (() => void)[] = [];

  /** Heard once, when it has been armed for the first time. */
  onArmed(heard: () => void): void {
    this.#onArmed.push(heard);
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
    if (this.#isRetired || (this.#armed !== undefined && this.#armed.sandboxId !== sandboxId)) return "taken";
    this.#armed = { sandboxId, init };
    for (const heard of this.#onArmed.splice(0)) heard();
    return "armed";
  }

  /** Also before it was armed: an order that arms it may still be under way. */
  retire(sandboxId: string): "retired" | "taken" {
    if (this.#armed !== undefined && this.#armed.sandboxId !== sandboxId) return "taken";
    this.#armed = { sandboxId, init: {} };
    this.#isRetired = true;
    return "retired";
  }
}
