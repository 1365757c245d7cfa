import type { InitBody } from "#envd-protocol/arming.ts";

/** For whom this daemon works. It is armed once per boot; arming again for the same sandbox renews what it was given. */
export class ArmedState {
  #armed: { readonly sandboxId: string; readonly init: InitBody } | undefined;

  get sandboxId(): string | undefined {
    return this.#armed?.sandboxId;
  }

  get init(): InitBody {
    return this.#armed?.init ?? {};
  }

  arm(sandboxId: string, init: InitBody): "armed" | "taken" {
    if (this.#armed !== undefined && this.#armed.sandboxId !== sandboxId) return "taken";
    this.#armed = { sandboxId, init };
    return "armed";
  }
}
