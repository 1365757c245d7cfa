/**
 * What a user's resolver does, for one process: names under a domain are at one address (`AGENTBOX_LOCAL_NAMES=domain=address`).
 * Loaded with an import, or with `--import`; sitecustomize.py is the same for Python.
 */
import dns from "node:dns";

const [domain = "", address = ""] = (process.env["AGENTBOX_LOCAL_NAMES"] ?? "").split("=");

if (address !== "") {
  const lookup = dns.lookup;
  const isOurs = (name: string): boolean => name === domain || name.endsWith(`.${domain}`);
  // Its many forms take the name first and are passed on as they are.
  dns.lookup = ((name: string, ...rest: unknown[]) =>
    Reflect.apply(lookup, dns, [isOurs(name) ? address : name, ...rest])) as typeof lookup;
}
