/** Finds the user of `user`, `uid`, `user:group` or `uid:gid` in the image's files. A number need not be there, a name must. */
import type { Account, Accounts } from "#envd/accounts/accounts.ts";

export interface FoundUser {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly home: string;
}

export function findUser(text: string, accounts: Accounts): FoundUser {
  const [user = "", group = ""] = text.split(":");
  const account = accountOf(user === "" ? "0" : user, accounts);
  if (group === "") return { ...account, groups: accounts.groupsOf(account) };
  const gid = isNumber(group) ? Number(group) : accounts.findGroup(group);
  if (gid === undefined) throw new Error(`there is no group ${JSON.stringify(group)} in /etc/group; name one of them or give a number`);
  return { ...account, gid, groups: [gid] };
}

function accountOf(user: string, accounts: Accounts): Account {
  const known = accounts.find(isNumber(user) ? accounts.userName(Number(user)) : user);
  if (known !== undefined) return known;
  if (isNumber(user)) return { name: user, uid: Number(user), gid: 0, home: "/" };
  throw new Error(`there is no user ${JSON.stringify(user)} in /etc/passwd; name one of them or give a number`);
}

function isNumber(text: string): boolean {
  return /^\d{1,10}$/.test(text);
}
