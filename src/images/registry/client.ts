/**
 * A client of OCI registries (the distribution protocol): pulling and pushing.
 *
 * - settings-file.ts, endpoints.ts: where to ask; pull-secret.ts: as whom; challenge.ts, authorizer.ts: how a registry is convinced
 * - transport.ts: one exchange; failure.ts: what its failures mean; retry.ts: when to try again; sources.ts: who is asked next
 * - remote-repository.ts: what can be asked for; download.ts: a blob in as many exchanges as it takes
 * - push-repository.ts: what can be put there; request-body.ts: what goes with it, watched on its way
 */
import { rootCertificates } from "node:tls";
import { Agent, type Dispatcher } from "undici";
import type { Random } from "#lib/backoff.ts";
import type { Clock } from "#lib/clock.ts";
import type { RegistryReference } from "../reference.ts";
import { Authorizer } from "./authorizer.ts";
import { endpointsOf, type RegistrySettings } from "./endpoints.ts";
import { Keyring, type PullSecret } from "./pull-secret.ts";
import { PushRepository } from "./push-repository.ts";
import { RemoteRepository } from "./remote-repository.ts";
import { type Source, Sources } from "./sources.ts";
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
    return new RemoteRepository(reference, this.#sources(reference, "pull", secrets));
  }

  /** The same for somebody who wants to put something there: in the registry itself, never in a mirror. */
  openForPush(reference: RegistryReference, secrets: readonly PullSecret[] = []): PushRepository {
    return new PushRepository(reference, this.#sources(reference, "pull,push", secrets));
  }

  #sources(reference: RegistryReference, actions: "pull" | "pull,push", secrets: readonly PullSecret[]): Sources {
    const keyring = new Keyring(secrets);
    const endpoints = endpointsOf(reference.registry, this.#settings).filter(({ isMirror }) => !isMirror || actions === "pull");
    const sources = endpoints.flatMap((endpoint): Source[] => {
      const credentials = keyring.lookup(endpoint.host, reference.repository);
      return (credentials.length === 0 ? [undefined] : credentials).map((credential) => ({ endpoint, credential }));
    });
    const { clock, random } = this.#deps;
    return new Sources(reference, actions, sources, { clock, random, transport: this.#transport, authorizer: this.#authorizer });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own?.destroy();
  }
}

function ownAgent(certificates: readonly string[]): Agent {
  const ca = certificates.length === 0 ? {} : { ca: [...rootCertificates, ...certificates] };
  return new Agent({ connect: { timeout: connectTimeoutMs, ...ca } });
}
