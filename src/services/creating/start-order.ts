/**
 * What a sandbox is started with and nothing in it keeps: variables, user and folder. A start from the checkpoint of a deep pause needs them again, so they are on
 * its pod: sealed, because variables hold secrets.
 */
import type { KeyObject } from "node:crypto";
import { withoutUndefined } from "#lib/without-undefined.ts";
import { lostStartOrder } from "#model/deep-pause.ts";
import { Seal } from "#services/hooks/seal.ts";
import type { CreateSandbox } from "#services/sandbox-service.ts";

export type StartOrder = Pick<CreateSandbox, "envVars" | "defaultUser" | "defaultWorkdir">;

export class StartOrders {
  readonly #seal: Seal<StartOrder>;

  constructor(privateKey: KeyObject) {
    this.#seal = new Seal(privateKey, "agentbox start order v1");
  }

  /** Undefined for a sandbox that is given nothing. */
  textOf(sandboxId: string, { envVars = {}, defaultUser, defaultWorkdir }: StartOrder): string | undefined {
    if (Object.keys(envVars).length === 0 && defaultUser === undefined && defaultWorkdir === undefined) return undefined;
    return this.#seal.seal(sandboxId, { envVars, ...withoutUndefined({ defaultUser, defaultWorkdir }) }) ?? lostStartOrder;
  }

  /** Undefined for what was not sealed for this sandbox with this key. */
  orderIn(sandboxId: string, text: string | undefined): StartOrder | undefined {
    return text === undefined ? {} : this.#seal.open(sandboxId, text);
  }
}
