/** An image's config: how its process is started, and the digests of its unpacked layers. */
import { type Static, Type } from "typebox";
import { baseLabel } from "#model/checkpoint-image.ts";
import { type Digest, digestOf, parseDigest } from "./digest.ts";
import { parseJsonAs } from "./json-shape.ts";
import type { Platform } from "./platform.ts";

/** How containers of this image start, unless the pod says otherwise. */
export interface ImageConfig {
  /** `NAME=value`. */
  readonly env: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** Name or number, optionally with a group after a colon; empty: root. */
  readonly user: string;
  /** Empty: the root folder. */
  readonly workingDir: string;
  readonly stopSignal?: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What containers of an image run, unless the pod says otherwise. */
export type ImageCommand = Pick<ImageConfig, "entrypoint" | "cmd">;

export interface ConfigFile {
  readonly platform: Platform;
  readonly config: ImageConfig;
  /** Digests of the uncompressed layers, lowest first. */
  readonly diffIds: readonly Digest[];
}

/** Go writes empty lists and maps as null. */
const strings = Type.Optional(Type.Union([Type.Null(), Type.Array(Type.String())]));
const text = Type.Optional(Type.Union([Type.Null(), Type.String()]));

const startSchema = Type.Object({
  Env: strings,
  Entrypoint: strings,
  Cmd: strings,
  User: text,
  WorkingDir: text,
  StopSignal: text,
  Labels: Type.Optional(Type.Union([Type.Null(), Type.Record(Type.String(), Type.String())])),
});

const configSchema = Type.Object({
  os: Type.Optional(Type.String()),
  architecture: Type.Optional(Type.String()),
  variant: Type.Optional(Type.String()),
  config: Type.Optional(Type.Union([Type.Null(), startSchema])),
  rootfs: Type.Object({ type: Type.Literal("layers"), diff_ids: Type.Array(Type.String()) }),
});

export function parseConfig(json: Buffer, what: string): ConfigFile {
  const { os = "", architecture = "", variant = "", config, rootfs } = parseJsonAs(configSchema, json, what);
  return {
    platform: { os, architecture, ...(variant === "" ? {} : { variant }) },
    config: startOf(config ?? {}),
    diffIds: rootfs.diff_ids.map((id) => parseDigest(id, `a diff id in ${what}`)),
  };
}

function startOf({ Env, Entrypoint, Cmd, User, WorkingDir, StopSignal, Labels }: Static<typeof startSchema>): ImageConfig {
  return {
    env: Env ?? [],
    entrypoint: Entrypoint ?? [],
    cmd: Cmd ?? [],
    user: User ?? "",
    workingDir: WorkingDir ?? "",
    ...(StopSignal ? { stopSignal: StopSignal } : {}),
    labels: Labels ?? {},
  };
}

/** The text of a config that we make ourselves. */
export function writeConfig({ platform, config, diffIds }: ConfigFile): Buffer {
  const { env, entrypoint, cmd, user, workingDir, stopSignal, labels } = config;
  return Buffer.from(
    JSON.stringify({
      ...platform,
      config: {
        Env: env,
        ...(entrypoint.length === 0 ? {} : { Entrypoint: entrypoint }),
        ...(cmd.length === 0 ? {} : { Cmd: cmd }),
        ...(user === "" ? {} : { User: user }),
        ...(workingDir === "" ? {} : { WorkingDir: workingDir }),
        ...(stopSignal === undefined ? {} : { StopSignal: stopSignal }),
        Labels: labels,
      },
      rootfs: { type: "layers", diff_ids: diffIds },
      history: [],
    }),
  );
}

/**
 * What names a layer together with everything below it, lowest first. The same layer over another one can mean another
 * folder: a layer may leave out folders that exist below and inherit their owner and mode.
 */
export function chainIds({ diffIds, config }: Pick<ConfigFile, "diffIds" | "config">): Digest[] {
  const chain: Digest[] = [];
  // The lowest layer of a checkpoint of `host` is not the lowest: it says what is deleted of the machine's own files.
  const floor = isOnHost(config) ? digestOf(hostBase) : undefined;
  for (const diffId of diffIds) {
    const below = chain.at(-1) ?? floor;
    chain.push(below === undefined ? diffId : digestOf(`${below} ${diffId}`));
  }
  return chain;
}

/** Value of baseLabel. */
export const hostBase = "host";

export function isOnHost({ labels }: Pick<ImageConfig, "labels">): boolean {
  return labels[baseLabel] === hostBase;
}
