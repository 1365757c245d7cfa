/** The user of a request: the one it names, or the sandbox's default user. */
import type { IncomingHttpHeaders } from "node:http";
import type { InitBody } from "#envd-protocol/arming.ts";
import type { Account, Accounts } from "./accounts.ts";

/** Owner of commands and files if a request names no user, and the image has this user. */
const usualUser = "user";

export class UnknownUser extends Error {
  override readonly name = "UnknownUser";

  constructor(user: string) {
    super(`invalid username: '${user}'`);
  }
}

/** The account with this name, or the default without a name. Throws UnknownUser. */
export function accountOf(accounts: Accounts, init: InitBody, name: string | undefined): Account {
  if (name !== undefined && name !== "") return known(accounts, name);
  if (init.defaultUser !== undefined && init.defaultUser !== "") return known(accounts, init.defaultUser);
  return accounts.find(usualUser) ?? known(accounts, "root");
}

function known(accounts: Accounts, name: string): Account {
  const account = accounts.find(name);
  if (account === undefined) throw new UnknownUser(name);
  return account;
}

/** The user from `Authorization: Basic`; the password is ignored. Undefined if there is none. */
export function basicUser({ authorization }: IncomingHttpHeaders): string | undefined {
  // HTTP has already removed spaces at the end.
  const [, encoded] = /^basic\s+([A-Za-z0-9+/=_-]*)$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon < 0 ? text : text.slice(0, colon);
}
