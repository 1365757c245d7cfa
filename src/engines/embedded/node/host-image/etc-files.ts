/** The files of /etc that the image `host` does not take from the machine: a sandbox has users and groups of its own. */

export interface GeneratedFile {
  readonly path: string;
  readonly content: string;
  readonly mode: number;
  readonly gid?: number;
}

/** The user that programs in a sandbox run as. */
export const sandboxUser = { name: "user", uid: 1000, gid: 1000, home: "/home/user" } as const;

const shadowGid = 42;
/** Days since 1970 of the last change of a password. Any day will do, as long as every image has the same. */
const passwordDay = 20_000;

/** Accounts every Debian has, in case the machine's own list of them is missing. */
export const basicPasswd = `root:*:0:0:root:/root:/bin/bash
daemon:*:1:1:daemon:/usr/sbin:/usr/sbin/nologin
www-data:*:33:33:www-data:/var/www:/usr/sbin/nologin
nobody:*:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
`;
export const basicGroup = `root:*:0:
daemon:*:1:
tty:*:5:
sudo:*:27:
www-data:*:33:
shadow:*:42:
users:*:100:
nogroup:*:65534:
`;

/** `passwdMaster`, `groupMaster`: the accounts that the distribution itself defines, as its base package lists them. */
export function generatedFiles(passwdMaster: string, groupMaster: string): GeneratedFile[] {
  const passwd = `${passwdMaster.replaceAll(/^([^:]+):\*:/gm, "$1:x:")}${userLine()}`;
  const group = `${groupMaster.replaceAll(/^([^:]+):\*:/gm, "$1:x:")}${sandboxUser.name}:x:${sandboxUser.gid}:\n`;
  return [
    plain("passwd", passwd),
    plain("group", group),
    secret(
      "shadow",
      namesIn(passwd).map((name) => `${name}:*:${passwordDay}:0:99999:7:::\n`),
    ),
    secret(
      "gshadow",
      namesIn(group).map((name) => `${name}:*::\n`),
    ),
    plain(
      "nsswitch.conf",
      "passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n",
    ),
    plain("hosts", "127.0.0.1 localhost\n::1 localhost\n"),
    plain("hostname", "sandbox\n"),
    plain("resolv.conf", ""),
    { ...plain("sudoers", sudoers), mode: 0o440 },
    plain("environment", `PATH="${searchPath}"\n`),
    plain("shells", "/bin/sh\n/bin/bash\n/usr/bin/bash\n"),
    plain("machine-id", ""),
    plain("fstab", ""),
    plain("security/limits.conf", ""),
    plain("security/pam_env.conf", ""),
    ...pamFiles(),
  ];
}

export const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const sudoers = `Defaults env_reset
Defaults secure_path="${searchPath}"
root ALL=(ALL:ALL) ALL
${sandboxUser.name} ALL=(ALL:ALL) NOPASSWD:ALL
`;

function userLine(): string {
  const { name, uid, gid, home } = sandboxUser;
  return `${name}:x:${uid}:${gid}:${name}:${home}:/bin/bash\n`;
}

function namesIn(accounts: string): string[] {
  return accounts.split("\n").flatMap((line) => (line === "" ? [] : [line.slice(0, line.indexOf(":"))]));
}

/** Root may become any user. All others are asked for a password, and no user has one, so they are refused. */
function pamFiles(): GeneratedFile[] {
  const rules = [
    "auth sufficient pam_rootok.so",
    "auth required pam_unix.so",
    "account sufficient pam_rootok.so",
    "account required pam_unix.so",
    "session required pam_unix.so",
    "password required pam_unix.so",
  ].join("\n");
  return ["su", "su-l", "sudo", "login", "passwd", "runuser", "other"].map((service) => plain(`pam.d/${service}`, `${rules}\n`));
}

function plain(path: string, content: string): GeneratedFile {
  return { path, content, mode: 0o644 };
}

function secret(path: string, lines: readonly string[]): GeneratedFile {
  return { path, content: lines.join(""), mode: 0o640, gid: shadowGid };
}
