/** Settings for registries that a person writes: mirrors, registries without TLS, certificates. */
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Type } from "typebox";
import { ImageError } from "../image-error.ts";
import { parseJsonAs } from "../json-shape.ts";
import type { RegistrySettings } from "./endpoints.ts";
import { Outbound } from "./outbound.ts";

export interface RegistryFile {
  readonly settings: RegistrySettings;
  /** In PEM. */
  readonly certificates: readonly string[];
}

const fileSchema = Type.Object(
  {
    mirrors: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
    plainHttp: Type.Optional(Type.Array(Type.String())),
    tls: Type.Optional(Type.Array(Type.String())),
    private: Type.Optional(Type.Array(Type.String())),
    tokenServers: Type.Optional(Type.Record(Type.String(), Type.Array(Type.String()))),
    /** Files with certificates, relative to this one. */
    certificates: Type.Optional(Type.Array(Type.String())),
  },
  { additionalProperties: false },
);

/** What the file says; nothing special if there is none. */
export async function readRegistryFile(path: string): Promise<RegistryFile> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new ImageError("invalid_config", `${path} cannot be read: ${error.message}`, { cause: error });
  });
  if (text === undefined) return { settings: {}, certificates: [] };
  const { certificates = [], ...settings } = parseJsonAs(fileSchema, text, path, "invalid_config");
  // A mirror or host that cannot be meant is told now, not at the first pull.
  const _ = new Outbound(settings);
  return { settings, certificates: await Promise.all(certificates.map((file) => readCertificate(resolve(dirname(path), file), path))) };
}

async function readCertificate(file: string, path: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  if (text.includes("BEGIN CERTIFICATE")) return text;
  throw new ImageError("invalid_config", `${path}: ${file} does not hold a certificate in PEM`);
}
