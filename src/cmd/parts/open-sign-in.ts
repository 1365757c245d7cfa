/** Sign-in to the console by an OpenID Connect provider, where a file describes one. */
import type { KeyObject } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { CliError } from "#cli/failure.ts";
import type { Clock } from "#lib/clock.ts";
import type { Logger } from "#lib/log.ts";
import { OidcSettingsError, readOidcSettings } from "#services/sign-in/oidc-settings.ts";
import type { OidcSignIn } from "#services/sign-in/oidc-sign-in.ts";

export interface SignInOptions {
  /** The file; left out: people sign in with API keys only. */
  readonly oidc?: string | undefined;
  /** The control plane's. */
  readonly privateKey: KeyObject;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Throws CliError with what is wrong with the file. The provider is asked when a person signs in first, so that the server starts without it. */
export async function openSignIn({ oidc: path, ...options }: SignInOptions): Promise<OidcSignIn | undefined> {
  if (path === undefined) return undefined;
  const settings = settingsIn(path, await textOf(path, ""));
  const { clientSecretFile: secretFile } = settings;
  const secret = secretFile === undefined ? undefined : await textOf(resolve(dirname(path), secretFile), `${path}: clientSecretFile: `);
  if (secret?.trim() === "") throw new CliError(`${path}: clientSecretFile: ${secretFile} is empty`);
  const { OidcSignIn: SignIn } = await import("#services/sign-in/oidc-sign-in.ts");
  options.log.info({ file: path, issuer: settings.issuer }, "sign-in by OpenID Connect");
  return new SignIn({ ...options, settings, clientSecret: secret?.trim() });
}

function settingsIn(path: string, text: string): ReturnType<typeof readOidcSettings> {
  try {
    return readOidcSettings(text);
  } catch (error) {
    if (error instanceof OidcSettingsError) throw new CliError(`${path}: ${error.message}`);
    throw error;
  }
}

async function textOf(path: string, place: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new CliError(`${place}${code === "ENOENT" ? `there is no file ${path}` : `${path} cannot be read: ${message}`}`);
  }
}
