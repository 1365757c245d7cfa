/**
 * A client of OCI registries (the distribution protocol), as far as pulling goes; pushing will use the same parts.
 *
 * - settings-file.ts, endpoints.ts: where to ask; pull-secret.ts: as whom; challenge.ts, authorizer.ts: how a registry is convinced
 * - transport.ts: one exchange; failure.ts: what its failures mean; retry.ts: when to try again
 * - remote-repository.ts: what can be asked for; download.ts: a blob in as many exchanges as it takes
 */
import { rootCertificates } from "node:tls";
import { Agent, type Dispatcher } from "undici";
import type { Random } from "#lib/backoff.ts";
import type { Clock } from "#lib/clock.ts";
import type { RegistryReference } from "../reference.ts";
import { Authorizer } from "./authorizer.ts";
import { endpointsOf, type RegistrySettings } from "./endpoints.ts";
import { Keyring, type PullSecret } from "./pull-secret.ts";
import { RemoteRepository } from "./remote-repository.ts";
import { Transport } from "./transport.ts";

export interface RegistryClientDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly settings?: RegistrySettings;
  /** Certificates to trust beside the usual ones, in PEM. */
  readonly certificates?: readonly string[];
  /** Connections; our own when left out. A proxy goes in here. */
  readonly dispatcher?: Dispatcher;
}

const connectTimeoutMs = 10_000;

export class RegistryClient implements AsyncDisposable {
  readonly #deps: RegistryClientDeps;
  readonly #settings: RegistrySettings;
  readonly #own: Agent | undefined;
  readonly #transport: Transport;
  readonly #authorizer: Authorizer;

  constructor(deps: RegistryClientDeps) {
    this.#deps = deps;
    this.#settings = deps.settings ?? {};
    this.#own = deps.dispatcher === undefined ? ownAgent(deps.certificates ?? []) : undefined;
    this.#transport = new Transport(deps.dispatcher ?? this.#own ?? ownAgent([]), deps.clock);
    this.#authorizer = new Authorizer(this.#transport, deps.clock);
  }

  /** The reference's repository, seen with these credentials. Asks nobody yet. */
  open(reference: RegistryReference, secrets: readonly PullSecret[] = []): RemoteRepository {
    const keyring = new Keyring(secrets);
    const { registry, repository } = reference;
    const sources = endpointsOf(registry, this.#settings).flatMap((endpoint) => {
      const credentials = keyring.lookup(endpoint.host, repository);
      return (credentials.length === 0 ? [undefined] : credentials).map((credential) => ({ endpoint, credential }));
    });
    const { clock, random } = this.#deps;
    return new RemoteRepository(reference, sources, { clock, random, transport: this.#transport, authorizer: this.#authorizer });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own?.destroy();
  }
}

function ownAgent(certificates: readonly string[]): Agent {
  const ca = certificates.length === 0 ? {} : { ca: [...rootCertificates, ...certificates] };
  return new Agent({ connect: { timeout: connectTimeoutMs, ...ca } });
}
