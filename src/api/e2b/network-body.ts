/** Translates the network rules of a sandbox between E2B's form and ours. Pure. */
import { type Static, Type } from "typebox";
import type { EgressPolicy } from "#model/egress-policy.ts";
import type { SandboxView } from "#services/sandbox-service.ts";
import { ServiceError } from "#services/service-error.ts";
import { notYet } from "./not-yet.ts";

const networks = Type.Array(Type.String());

export const egressFields = {
  allowOut: Type.Optional(networks),
  denyOut: Type.Optional(networks),
  rules: Type.Optional(Type.Unknown()),
  egressProxy: Type.Optional(Type.Unknown()),
};

/** The whole network rules of a running sandbox: a field that is left out is reset. */
export const networkBody = Type.Object({ ...egressFields, allow_internet_access: Type.Optional(Type.Boolean()) });
export type NetworkBody = Static<typeof networkBody>;

const everywhere = "0.0.0.0/0";

/** Undefined if the request only repeats the default: E2B's clients always say that the Internet is open. */
export function egressOf(body: { readonly allow_internet_access?: boolean | undefined } & Omit<NetworkBody, "allow_internet_access">) {
  const { allow_internet_access: internet = true, allowOut = [], denyOut = [] } = body;
  if (internet && allowOut.length === 0 && denyOut.length === 0) return undefined;
  const denied = denyOut.find(isName);
  if (denied !== undefined) {
    throw new ServiceError("invalid_request", `denyOut: must contain only addresses and CIDR networks, not ${JSON.stringify(denied)}`, {
      field: "denyOut",
    });
  }
  const name = allowOut.find(isName);
  if (name !== undefined) throw notYet(`network rules by domain name (${JSON.stringify(name)}): give addresses or CIDR networks`);
  // E2B's clients say "only these destinations" by denying everything and allowing some.
  const isClosed = !internet || denyOut.includes(everywhere);
  return { internet: !isClosed, allow: allowOut, deny: denyOut.filter((one) => one !== everywhere) } satisfies EgressPolicy;
}

export function refuseMissingNetwork({ rules, egressProxy }: Pick<NetworkBody, "rules" | "egressProxy">): void {
  if (typeof rules === "object" && rules !== null && Object.keys(rules).length > 0) throw notYet("network.rules");
  if (egressProxy !== undefined && egressProxy !== null) throw notYet("network.egressProxy");
}

/** As details show it. */
export function shownNetwork({ egress, privateTraffic, maskHost }: SandboxView) {
  const { internet = true, allow = [], deny = [] } = egress ?? {};
  return {
    allowInternetAccess: internet,
    network: {
      ...(allow.length === 0 ? {} : { allowOut: allow }),
      ...(internet && deny.length === 0 ? {} : { denyOut: internet ? deny : [everywhere, ...deny] }),
      allowPublicTraffic: privateTraffic !== true,
      ...(maskHost === undefined ? {} : { maskRequestHost: maskHost }),
    },
  };
}

/** A domain name: it has letters and no colon. An IPv4 address has only digits and dots; an IPv6 address has colons. */
function isName(text: string): boolean {
  return /[a-z*]/i.test(text) && !text.includes(":");
}
