/** The files of a volume, for clients that have the volume's token: SDKs use it while no sandbox runs, too. */
import { timingSafeEqual } from "node:crypto";
import { type Volumes, type VolumeFailure, VolumeFileError, type VolumeFiles } from "#engine-port/volumes.ts";
import { type Clock, endsWithin } from "#lib/clock.ts";
import type { ErrorCode } from "#model/error-codes.ts";
import { labelKeys } from "#model/keys.ts";
import type { VolumeCache } from "#volumes/volume-cache.ts";
import type { Caller } from "#services/caller.ts";
import { ServiceError } from "#services/service-error.ts";
import { idOf } from "./volume-book.ts";

export interface VolumeContentsDeps {
  readonly tokenOf: (uid: string) => string;
  readonly volumes?: Pick<VolumeCache, "list"> | undefined;
  readonly engine?: Pick<Volumes, "files"> | undefined;
  readonly clock: Clock;
}

/** How long an upload may send nothing: it holds room in the volume and a place among its team's connections. */
const silenceMs = 60_000;

/** The rights of a volume's token: this volume, and nothing else. */
export interface OpenVolume {
  /** For limits and logs: the volume's team. */
  readonly caller: Caller;
  readonly files: Bound<VolumeFiles>;
}

type Bound<Files> = {
  readonly [Name in keyof Files]: Files[Name] extends (uid: string, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

/** Undefined for a wrong token, and for a volume that is not there: a caller without the token cannot tell one from the other. */
export function openVolume({ tokenOf, volumes, engine, clock }: VolumeContentsDeps, id: string, token: string): OpenVolume | undefined {
  const volume = volumes?.list().find((one) => idOf(one) === id && one.metadata.deletionTimestamp === undefined);
  const { uid = "", labels = {} } = volume?.metadata ?? {};
  const [wanted, given] = [Buffer.from(tokenOf(uid)), Buffer.from(token)];
  const isRight = wanted.length === given.length && timingSafeEqual(wanted, given);
  if (volume === undefined || engine === undefined || !isRight) return undefined;
  const user = labels[labelKeys.user];
  return {
    caller: { role: "tenant", team: labels[labelKeys.team] ?? "", ...(user !== undefined && { user }), keyId: `volume ${id}` },
    files: bound(engine.files, uid, clock),
  };
}

function bound(files: VolumeFiles, uid: string, clock: Clock): Bound<VolumeFiles> {
  return {
    stat: (...rest) => told(files.stat(uid, ...rest)),
    list: (...rest) => told(files.list(uid, ...rest)),
    makeFolder: (...rest) => told(files.makeFolder(uid, ...rest)),
    read: (...rest) => told(files.read(uid, ...rest)),
    write: (path, content, wanted) => told(files.write(uid, path, unlessSilent(content, clock), wanted)),
    change: (...rest) => told(files.change(uid, ...rest)),
    remove: (...rest) => told(files.remove(uid, ...rest)),
  };
}

async function* unlessSilent(content: AsyncIterable<Uint8Array>, clock: Clock): AsyncGenerator<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]();
  for (;;) {
    const next = chunks.next();
    if (!(await endsWithin(next, clock, silenceMs))) {
      throw new ServiceError("timeout", `the upload brought nothing for ${silenceMs / 1000} s: it was given up, and nothing of it is kept`);
    }
    const { done, value } = await next;
    if (done === true) return;
    yield value;
  }
}

const codes: Readonly<Record<VolumeFailure, ErrorCode>> = {
  not_found: "not_found",
  missing: "conflict",
  invalid: "invalid_request",
  busy: "conflict",
  no_space: "too_large",
  too_many: "invalid_request",
};

async function told<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof VolumeFileError)) throw error;
    const field = error.failure === "invalid" || error.failure === "too_many" ? { field: "query.path" } : {};
    throw new ServiceError(codes[error.failure], error.message, { ...field, cause: error });
  }
}
