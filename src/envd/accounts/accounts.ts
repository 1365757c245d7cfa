/** Users and groups of the sandbox, from its own files, which may change at runtime. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** The root account for images without these files. */
const root: Account = { name: "root", uid: 0, gid: 0, home: "/root" };

interface Group {
  readonly name: string;
  readonly gid: number;
  readonly members: readonly string[];
}

export class Accounts {
  readonly #users: KeptFile<readonly Account[]>;
  readonly #groups: KeptFile<readonly Group[]>;

  constructor(etc = "/etc") {
    this.#users = new KeptFile(join(etc, "passwd"), parseUsers);
    this.#groups = new KeptFile(join(etc, "group"), parseGroups);
  }

  find(name: string): Account | undefined {
    return this.#users.value.find((user) => user.name === name) ?? (name === root.name ? root : undefined);
  }

  findGroup(name: string): number | undefined {
    return this.#groups.value.find((group) => group.name === name)?.gid ?? (name === root.name ? root.gid : undefined);
  }

  /** Supplementary gids of a process of the account. */
  groupsOf({ name, gid }: Account): readonly number[] {
    const others = this.#groups.value.filter(({ members }) => members.includes(name)).map((group) => group.gid);
    return [...new Set([gid, ...others])];
  }

  /** The account for these ids. Images may use a uid that is in none of their files; its home is then /. */
  ofProcess(uid: number, gid: number): Account {
    const known = this.#users.value.find((user) => user.uid === uid) ?? (uid === 0 ? root : undefined);
    return known ?? { name: String(uid), uid, gid, home: "/" };
  }

  /** The user's name, or the number of a user without a name. */
  userName(uid: number): string {
    return this.#users.value.find((user) => user.uid === uid)?.name ?? (uid === 0 ? root.name : String(uid));
  }

  groupName(gid: number): string {
    return this.#groups.value.find((group) => group.gid === gid)?.name ?? (gid === 0 ? root.name : String(gid));
  }
}

export function parseUsers(text: string): Account[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid = "", gid = "", , home = ""] = line.split(":");
    return name !== "" && isId(uid) && isId(gid) ? [{ name, uid: Number(uid), gid: Number(gid), home: home === "" ? "/" : home }] : [];
  });
}

export function parseGroups(text: string): Group[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", , gid = "", members = ""] = line.split(":");
    return name !== "" && isId(gid) ? [{ name, gid: Number(gid), members: members.split(",").filter((member) => member !== "") }] : [];
  });
}

function isId(text: string): boolean {
  return /^\d{1,10}$/.test(text) && Number(text) < 2 ** 32 - 1;
}

/** A file that is parsed again after it changed. */
class KeptFile<T> {
  readonly #path: string;
  readonly #parse: (text: string) => T;
  #mark = "";
  #value: T;

  constructor(path: string, parse: (text: string) => T) {
    this.#path = path;
    this.#parse = parse;
    this.#value = parse("");
  }

  get value(): T {
    const found = statSync(this.#path, { throwIfNoEntry: false });
    const mark = found === undefined ? "none" : `${found.ino} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
    if (mark !== this.#mark) {
      this.#value = this.#parse(found?.isFile() === true ? readFileSync(this.#path, "utf8") : "");
      this.#mark = mark;
    }
    return this.#value;
  }
}
