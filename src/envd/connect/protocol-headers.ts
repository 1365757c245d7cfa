import type { IncomingHttpHeaders } from "node:http";
import { ConnectError } from "./connect-error.ts";

export interface WireFormat {
  readonly isStream: boolean;
  readonly codec: "json" | "proto";
}

const formats: Readonly<Record<string, WireFormat>> = {
  "application/json": { isStream: false, codec: "json" },
  "application/proto": { isStream: false, codec: "proto" },
  "application/connect+json": { isStream: true, codec: "json" },
  "application/connect+proto": { isStream: true, codec: "proto" },
};

export const contentTypes = Object.keys(formats);

export function wireFormat(contentType: string | undefined): WireFormat | undefined {
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim().toLowerCase());
  // Text in another charset than UTF-8 would be misread.
  if (parameters.some((parameter) => parameter.startsWith("charset=") && !/^charset="?utf-?8"?$/.test(parameter))) return undefined;
  return formats[type];
}

/** Time limit of the caller, in ms. */
export function timeoutOf(headers: IncomingHttpHeaders): number | undefined {
  const value = headers["connect-timeout-ms"];
  if (value === undefined || value === "") return undefined;
  if (typeof value !== "string" || !/^\d{1,10}$/.test(value)) {
    throw new ConnectError("invalid_argument", `connect-timeout-ms must be a number of at most ten digits, not ${JSON.stringify(value)}`);
  }
  return Number(value);
}

export function checkVersion(headers: IncomingHttpHeaders): void {
  const version = headers["connect-protocol-version"];
  if (version !== undefined && version !== "1") {
    throw new ConnectError("invalid_argument", `connect-protocol-version must be "1", not ${JSON.stringify(version)}`);
  }
}

/** Seconds between keep-alive messages on an otherwise silent stream. */
export function keepaliveSeconds(headers: IncomingHttpHeaders): number {
  const value = Number(headers["keepalive-ping-interval"]);
  return Number.isInteger(value) && value > 0 && value <= 3600 ? value : 90;
}
