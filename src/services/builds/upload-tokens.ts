/** Rights to send the files of one COPY, in the address: clients of E2B send no key with them. A token holds the grant, signed with a key that is made from the control plane's. */
import { createHmac, hkdfSync, type KeyObject, timingSafeEqual } from "node:crypto";
import type { Clock } from "#lib/clock.ts";
import { ServiceError } from "#services/service-error.ts";
import type { UploadName } from "./upload-store.ts";

export interface UploadTokens {
  tokenFor(upload: UploadName): string;
  /** Throws forbidden. */
  uploadOf(token: string): UploadName;
}

type Grant = [team: string, user: string | null, hash: string, untilMs: number];

const lifetimeMs = 3_600_000;
const longestToken = 2048;

export function uploadTokens(privateKey: KeyObject, clock: Clock): UploadTokens {
  const secret = privateKey.export({ type: "pkcs8", format: "der" });
  const key = Buffer.from(hkdfSync("sha256", secret, "", "agentbox upload token v2", 32));
  const seal = (grant: string): Buffer => createHmac("sha256", key).update(grant).digest();
  return {
    tokenFor: ({ team, user, hash }) => {
      const grant = Buffer.from(JSON.stringify([team, user ?? null, hash, clock.now() + lifetimeMs])).toString("base64url");
      return `${grant}.${seal(grant).toString("base64url")}`;
    },
    uploadOf: (token) => {
      const [grant = "", sign = ""] = token.length > longestToken ? [] : token.split(".");
      const given = Buffer.from(sign, "base64url");
      const right = seal(grant);
      if (given.length !== right.length || !timingSafeEqual(given, right)) throw refused("is not one of this server");
      const [team, user, hash, until] = JSON.parse(Buffer.from(grant, "base64url").toString()) as Grant;
      if (!(until > clock.now())) throw refused("has run out: ask for a new one");
      return { team, hash, ...(user !== null && { user }) };
    },
  };
}

function refused(why: string): ServiceError {
  return new ServiceError("forbidden", `the address for this upload ${why}`);
}
