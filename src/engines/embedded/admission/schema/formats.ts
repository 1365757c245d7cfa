import { isIPv4, isIPv6 } from "node:net";

export type FormatCheck = (text: string) => boolean;

/** `number` formats are judged by range, not by text: see value-checks.ts. */
const checks: Readonly<Record<string, FormatCheck>> = {
  "date-time": isDateTime,
  date: isDate,
  byte: (text) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/.test(text),
  uuid: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  ipv4: isIPv4,
  ipv6: isIPv6,
  password: () => true,
};

const knownToServer = new Set(
  "bsonobjectid uri email hostname cidr mac uuid3 uuid4 uuid5 isbn isbn10 isbn13 creditcard ssn hexcolor rgbcolor duration".split(" "),
);

/** Undefined for names that mean nothing to the server. Throws for one that means something to the server but nothing here. */
export function formatCheck(format: string): FormatCheck | undefined {
  const check = checks[format];
  if (check === undefined && knownToServer.has(format.replaceAll("-", ""))) {
    throw new Error(`format "${format}" is checked by API servers but not by the embedded store: add it to formats.ts, or use a pattern`);
  }
  return check;
}

/** RFC 3339, as the server reads it: any case, no leap seconds. */
export function isDateTime(text: string): boolean {
  const [date = "", time = "", ...more] = text.toLowerCase().split("t");
  const clock = /^(?<hours>\d\d):(?<minutes>\d\d):(?<seconds>\d\d)(?:\.\d+)?(?:z|[+-]\d\d:\d\d)$/.exec(time)?.groups;
  if (clock === undefined || more.length > 0 || !isDate(date)) return false;
  return Number(clock["hours"]) < 24 && Number(clock["minutes"]) < 60 && Number(clock["seconds"]) < 60;
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const parsed = new Date(`${text}T00:00:00Z`);
  // A day that the month does not have would move into the next month.
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(text);
}
