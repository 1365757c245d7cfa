/** Who is meant by `user`, `uid`, `user:group` or `uid:gid`, by the image's own files. A number need not be in them, a name must be. */
import type { Account, Accounts } from "#envd/accounts/accounts.ts";

export interface FoundUser {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly home: string;
}

export function findUser(text: string, accounts: Accounts): FoundUser {
  const [who = "", group = ""] = text.split(":");
  const account = accountOf(who === "" ? "0" : who, accounts);
  if (group === "") return { ...account, groups: accounts.groupsOf(account) };
  const gid = isNumber(group) ? Number(group) : accounts.findGroup(group);
  if (gid === undefined) throw new Error(`there is no group ${JSON.stringify(group)} in /etc/group; name one of them or give a number`);
  return { ...account, gid, groups: [gid] };
}

function accountOf(who: string, accounts: Accounts): Account {
  const known = accounts.find(isNumber(who) ? accounts.userName(Number(who)) : who);
  if (known !== undefined) return known;
  if (isNumber(who)) return { name: who, uid: Number(who), gid: 0, home: "/" };
  throw new Error(`there is no user ${JSON.stringify(who)} in /etc/passwd; name one of them or give a number`);
}

function isNumber(text: string): boolean {
  return /^\d{1,10}$/.test(text);
}
