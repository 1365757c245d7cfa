/** The user that a container runs as, looked up in the image's own /etc/passwd and /etc/group. */

export interface ResolvedUser {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
  readonly home: string;
}

export interface AccountFiles {
  readonly passwd: string;
  readonly group: string;
}

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** `user`, `uid`, `user:group` or `uid:gid`; empty is root. A number need not be in the files, a name must be. */
export function resolveUser(text: string, files: AccountFiles, supplementalGroups: readonly number[] = []): ResolvedUser {
  const [user = "", group] = (text === "" ? "0" : text).split(":");
  const account = findAccount(user, parsePasswd(files.passwd));
  if (account === undefined)
    throw new Error(`the image has no user ${JSON.stringify(user)} in /etc/passwd; name one of them or give a number`);
  const groups = parseGroups(files.group);
  if (group !== undefined && group !== "") {
    return { uid: account.uid, gid: findGroup(group, groups), groups: unique(supplementalGroups), home: account.home };
  }
  const memberOf = groups.filter(({ members }) => members.includes(account.name)).map(({ gid }) => gid);
  return { uid: account.uid, gid: account.gid, groups: unique([...memberOf, ...supplementalGroups]), home: account.home };
}

function findAccount(user: string, accounts: readonly Account[]): Account | undefined {
  const number = idOf(user);
  const known = accounts.find((account) => account.name === user || account.uid === number);
  if (known !== undefined || number === undefined) return known;
  return { name: user, uid: number, gid: 0, home: "/" };
}

function findGroup(which: string, groups: readonly { name: string; gid: number }[]): number {
  const gid = idOf(which) ?? groups.find(({ name }) => name === which)?.gid;
  if (gid === undefined)
    throw new Error(`the image has no group ${JSON.stringify(which)} in /etc/group; name one of them or give a number`);
  return gid;
}

/** Ids above 65535 do not exist in a sandbox. */
function idOf(text: string): number | undefined {
  if (!/^\d+$/.test(text)) return undefined;
  const id = Number(text);
  if (id > 65_535) throw new Error(`${text} is no id inside a sandbox; they go from 0 to 65535`);
  return id;
}

function parsePasswd(text: string): Account[] {
  return text.split("\n").flatMap((line) => {
    const [name, , uid, gid, , home] = line.split(":");
    return name === undefined || !isId(uid) || !isId(gid) ? [] : [{ name, uid: Number(uid), gid: Number(gid), home: home || "/" }];
  });
}

function parseGroups(text: string): { name: string; gid: number; members: string[] }[] {
  return text.split("\n").flatMap((line) => {
    const [name, , gid, members = ""] = line.split(":");
    return name === undefined || !isId(gid) ? [] : [{ name, gid: Number(gid), members: members.split(",") }];
  });
}

function isId(text: string | undefined): boolean {
  return text !== undefined && /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
}

function unique(ids: readonly number[]): number[] {
  return [...new Set(ids)];
}
