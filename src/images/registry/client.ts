/**
 * A client of OCI registries (the distribution protocol): pulling and pushing.
 *
 * - settings-file.ts, endpoints.ts: which hosts to ask; pull-secret.ts: credentials; challenge.ts, authorizer.ts: tokens for a registry
 * - outbound.ts: where requests may go
 * - transport.ts: one exchange; failure.ts: what its failures mean; retry.ts: when to try again; sources.ts: which mirror to ask next
 * - remote-repository.ts: requests for manifests and blobs; download.ts: a blob in as many exchanges as it takes
 * - push-repository.ts: uploads; request-body.ts: the body of an upload, with its progress watched
 */
import { rootCertificates } from "node:tls";
import { Agent, type Dispatcher } from "undici";
import type { Random } from "#lib/backoff.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import type { ImageError } from "../image-error.ts";
import { type RegistryReference, repositoryName } from "../reference.ts";
import { Authorizer } from "./authorizer.ts";
import { endpointsOf, type RegistrySettings } from "./endpoints.ts";
import { Outbound, type OutboundDeps } from "./outbound.ts";
import { identityOf, Keyring, type PullSecret } from "./pull-secret.ts";
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
  /** Connections; our own when left out. A proxy goes in here, which must then keep O1 of outbound.ts. */
  readonly dispatcher?: Dispatcher;
  /** Reads what tenants are not told about failures. */
  readonly log?: Logger;
  readonly outbound?: OutboundDeps;
}

const connectTimeoutMs = 10_000;

export class RegistryClient implements AsyncDisposable {
  readonly #deps: RegistryClientDeps;
  readonly #settings: RegistrySettings;
  readonly #own: Dispatcher | undefined;
  readonly #transport: Transport;
  readonly #authorizer: Authorizer;

  constructor(deps: RegistryClientDeps) {
    this.#deps = deps;
    this.#settings = deps.settings ?? {};
    const { clock, certificates = [] } = deps;
    const outbound = new Outbound(this.#settings, deps.outbound);
    const dispatcher = deps.dispatcher ?? ownAgent(outbound, certificates);
    this.#own = deps.dispatcher === undefined ? dispatcher : undefined;
    this.#transport = new Transport({ dispatcher, outbound, clock });
    this.#authorizer = new Authorizer({ transport: this.#transport, outbound, clock });
  }

  /** The reference's repository, seen with these credentials. Sends no request yet. */
  open(reference: RegistryReference, secrets: readonly PullSecret[] = []): RemoteRepository {
    return new RemoteRepository(reference, this.#sources(reference, "pull", secrets));
  }

  /** What these credentials are for the reference's repository: names under which access is remembered. Sends no request. */
  identities(reference: RegistryReference, secrets: readonly PullSecret[] = []): string[] {
    return [...new Set(this.#places(reference, secrets).map(({ credential }) => identityOf(reference.registry, credential)))];
  }

  /** The same for uploads: to the registry itself, never to a mirror. */
  openForPush(reference: RegistryReference, secrets: readonly PullSecret[] = []): PushRepository {
    return new PushRepository(reference, this.#sources(reference, "pull,push", secrets));
  }

  #sources(reference: RegistryReference, actions: "pull" | "pull,push", secrets: readonly PullSecret[]): Sources {
    const sources = this.#places(reference, secrets).filter(({ endpoint }) => !endpoint.isMirror || actions === "pull");
    const { clock, random, log } = this.#deps;
    const image = repositoryName(reference);
    const onFailure = ({ code, message, detail }: ImageError): void => log?.warn({ image, code, detail }, message);
    return new Sources(reference, actions, sources, { clock, random, onFailure, transport: this.#transport, authorizer: this.#authorizer });
  }

  #places(reference: RegistryReference, secrets: readonly PullSecret[]): Source[] {
    const keyring = new Keyring(secrets);
    return endpointsOf(reference.registry, this.#settings).flatMap((endpoint): Source[] => {
      const credentials = keyring.lookup(endpoint.host, reference.repository);
      return (credentials.length === 0 ? [undefined] : credentials).map((credential) => ({ endpoint, credential }));
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#own?.destroy();
  }
}

function ownAgent(outbound: Outbound, certificates: readonly string[]): Agent {
  const ca = certificates.length === 0 ? {} : { ca: [...rootCertificates, ...certificates] };
  return new Agent({ connect: outbound.connector({ timeout: connectTimeoutMs, ...ca }) });
}
