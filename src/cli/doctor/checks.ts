/** The checks of `agentbox doctor`. Pure: facts about the machine go in; problems, and the commands that fix them, come out. */
export type Verdict = "ok" | "warning" | "problem";

export interface Finding {
  readonly check: string;
  readonly verdict: Verdict;
  readonly message: string;
  /** A command, or an instruction. */
  readonly fix?: string;
}

/** Facts about the machine; undefined where the probe could not look. */
export interface MachineProbe {
  readonly kernel: string | undefined;
  readonly isRoot: boolean;
  readonly cgroup: "v2" | "v1" | "hybrid" | "none";
  readonly controllers: readonly string[];
  /** Value of /proc/sys/user/max_user_namespaces. */
  readonly maxUserNamespaces: number | undefined;
  readonly fileSystems: readonly string[];
  /** The runc that sandboxes use. `hole`: its known vulnerabilities, in words. */
  readonly runc: { readonly version: string; readonly hole: string | undefined } | undefined;
  readonly commands: Readonly<Record<string, boolean>>;
  readonly disk: { readonly path: string; readonly freeBytes: number; readonly totalBytes: number } | undefined;
  readonly server: { readonly isRunning: boolean; readonly health: number | undefined };
  readonly takenPorts: readonly number[];
  readonly certificateEnds: number | undefined;
  readonly registries: readonly { readonly url: string; readonly failure: string | undefined }[];
  readonly database: { readonly url: string; readonly failure: string | undefined } | undefined;
}

/** The chosen server and cluster. */
export interface Probed extends MachineProbe {
  readonly clockOffMs: number | undefined;
  readonly api: { readonly url: string; readonly failure: string | undefined } | undefined;
  readonly cluster: { readonly name: string; readonly failure: string | undefined; readonly missingRights: readonly string[] } | undefined;
}

type Check = (probed: Probed, now: number) => Finding;

const day = 24 * 3_600_000;
const gigabyte = 1e9;

function ok(check: string, message: string): Finding {
  return { check, verdict: "ok", message };
}

function bad(check: string, verdict: Exclude<Verdict, "ok">, message: string, fix: string): Finding {
  return { check, verdict, message, fix };
}

/** Linux 5.19 added id-mapped mounts of overlayfs. */
function kernel({ kernel: version }: Probed): Finding {
  const [, major = "0", minor = "0"] = /^(\d+)\.(\d+)/.exec(version ?? "") ?? [];
  const isEnough = Number(major) > 5 || (Number(major) === 5 && Number(minor) >= 19);
  if (isEnough) return ok("kernel", `Linux ${version ?? ""}`);
  return bad(
    "kernel",
    "problem",
    `Linux ${version ?? "of an unknown version"} is older than 5.19, but id-mapped overlays need 5.19`,
    "upgrade the kernel: sudo apt-get install linux-image-amd64, and reboot",
  );
}

function root({ isRoot }: Probed): Finding {
  return isRoot
    ? ok("rights", "runs as root")
    : bad("rights", "warning", "not root: agentbox up needs root; commands that talk to a server do not", "sudo agentbox up");
}

const neededControllers = ["cpu", "memory", "pids"];

function cgroups({ cgroup, controllers }: Probed): Finding {
  const missing = neededControllers.filter((name) => !controllers.includes(name));
  if (cgroup === "none") return bad("cgroups", "problem", "no control groups are mounted", "sudo mount -t cgroup2 none /sys/fs/cgroup");
  if (missing.length > 0)
    return bad(
      "cgroups",
      "problem",
      `control groups lack ${missing.join(", ")}`,
      "boot with cgroup_enable=memory, or on a nested machine delegate them",
    );
  if (cgroup === "v2") return ok("cgroups", "version 2");
  return bad(
    "cgroups",
    "warning",
    `version 1${cgroup === "hybrid" ? " beside 2" : ""}: it works, with coarser limits`,
    "boot with systemd.unified_cgroup_hierarchy=1",
  );
}

function userNamespaces({ maxUserNamespaces }: Probed): Finding {
  if (maxUserNamespaces !== undefined && maxUserNamespaces > 0) return ok("user namespaces", `up to ${maxUserNamespaces}`);
  return bad("user namespaces", "problem", "they are disabled", "sudo sysctl -w user.max_user_namespaces=65536");
}

function overlay({ fileSystems }: Probed): Finding {
  return fileSystems.includes("overlay")
    ? ok("overlay", "the kernel has overlayfs")
    : bad("overlay", "problem", "the kernel has no overlayfs", "sudo modprobe overlay");
}

function runtime({ runc, server: { isRunning } }: Probed): Finding {
  if (runc === undefined && isRunning) return ok("runtime", "the running server has its own");
  if (runc === undefined)
    return bad("runtime", "warning", "runc is not installed yet", "sudo make up, which installs it at the first start");
  if (runc.hole === undefined) return ok("runtime", `runc ${runc.version}, without known escapes`);
  return bad("runtime", "problem", runc.hole, "sudo make up, which builds a fixed version");
}

const packages: Readonly<Record<string, string>> = { nft: "nftables", ip: "iproute2" };

function programs({ commands }: Probed): Finding {
  const missing = Object.keys(packages).filter((name) => commands[name] !== true);
  if (missing.length === 0) return ok("programs", "nft and ip are installed");
  return bad(
    "programs",
    "problem",
    `missing: ${missing.join(", ")}`,
    `sudo apt-get install -y ${missing.map((name) => packages[name] ?? name).join(" ")}`,
  );
}

function disk({ disk: found }: Probed): Finding {
  if (found === undefined) return bad("disk", "warning", "the free space of the data folder is not known", "df -h ~/.agentbox");
  const free = `${(found.freeBytes / gigabyte).toFixed(1)} GB free at ${found.path}`;
  if (found.freeBytes >= 5 * gigabyte) return ok("disk", free);
  return bad(
    "disk",
    found.freeBytes < gigabyte ? "problem" : "warning",
    `only ${free}`,
    "agentbox image gc, or choose another folder with AGENTBOX_HOME",
  );
}

function server({ server: { isRunning, health } }: Probed): Finding {
  if (!isRunning) return bad("server", "warning", "AgentBox is not running on this data folder", "sudo agentbox up");
  return health === 200
    ? ok("server", "runs and is healthy")
    : bad("server", "problem", `runs, but its health check answers ${health ?? "nothing"}`, "see logs/agentbox.log in the data folder");
}

function ports({ takenPorts, server: { isRunning } }: Probed): Finding {
  if (isRunning || takenPorts.length === 0) return ok("ports", isRunning ? "used by the running server" : "free");
  return bad(
    "ports",
    "problem",
    `another program uses ${takenPorts.join(", ")}`,
    `ss -ltnp | grep -E '${takenPorts.map((port) => `:${port}`).join("|")}', or agentbox up --port PORT`,
  );
}

function certificate({ certificateEnds }: Probed, now: number): Finding {
  if (certificateEnds === undefined) return ok("certificate", "none yet: the first start makes one");
  const days = Math.floor((certificateEnds - now) / day);
  if (days >= 14) return ok("certificate", `good for ${days} days`);
  return bad(
    "certificate",
    days < 0 ? "problem" : "warning",
    days < 0 ? "has ended" : `ends in ${days} days`,
    "restart the server to get a new one: agentbox down, then agentbox up",
  );
}

function clock({ clockOffMs }: Probed): Finding {
  if (clockOffMs === undefined || Math.abs(clockOffMs) < 5000)
    return ok("clock", clockOffMs === undefined ? "no server to compare with" : "agrees with the server");
  return bad(
    "clock",
    "problem",
    `differs from the server's by ${Math.round(Math.abs(clockOffMs) / 1000)} s`,
    "sudo timedatectl set-ntp true, on both machines",
  );
}

function registries({ registries: all }: Probed): Finding {
  const failed = all.filter(({ failure }) => failure !== undefined);
  if (failed.length === 0) return ok("registries", all.length === 0 ? "none are configured" : `${all.length} answer`);
  return bad(
    "registries",
    "warning",
    failed.map(({ url, failure }) => `${url}: ${failure ?? ""}`).join("; "),
    "check registries.json in the data folder, and the connection with curl URL/v2/",
  );
}

function database({ database: found }: Probed): Finding {
  if (found?.failure === undefined) return ok("database", found === undefined ? "SQLite in the data folder" : `${found.url} answers`);
  return bad("database", "problem", `${found.url}: ${found.failure}`, "check DATABASE_URL, and that the database runs: pg_isready");
}

function api({ api: found }: Probed): Finding {
  if (found === undefined) return ok("API", "no server is selected or running");
  if (found.failure === undefined) return ok("API", `${found.url} accepts the key`);
  return bad("API", "problem", `${found.url}: ${found.failure}`, "see agentbox config ls, AGENTBOX_API_URL and AGENTBOX_API_KEY");
}

function cluster({ cluster: found }: Probed): Finding {
  if (found === undefined) return ok("cluster", "no kubeconfig is selected");
  if (found.failure !== undefined) return bad("cluster", "problem", `${found.name}: ${found.failure}`, "kubectl cluster-info");
  if (found.missingRights.length === 0) return ok("cluster", `${found.name} answers, and all required rights are present`);
  return bad(
    "cluster",
    "problem",
    `${found.name}: no right to ${found.missingRights.join(", ")}`,
    "install the chart's roles: helm upgrade agentbox deploy/chart",
  );
}

const machineChecks: readonly Check[] = [
  kernel,
  root,
  cgroups,
  userNamespaces,
  overlay,
  runtime,
  programs,
  disk,
  ports,
  certificate,
  registries,
  database,
];
const serverChecks: readonly Check[] = [server, clock, api, cluster];

/** For a remote server, only this machine's connection to it matters. */
export function diagnose(probed: Probed, now: number, isRemote: boolean): readonly Finding[] {
  const checks = isRemote ? [clock, api, cluster] : [...machineChecks, ...serverChecks];
  return checks.map((check) => check(probed, now));
}
