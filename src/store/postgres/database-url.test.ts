import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { HistoryError } from "../history-error.ts";
import { describeAddress, parseDatabaseUrl } from "./database-url.ts";

function refusal(url: string): string {
  try {
    parseDatabaseUrl(url);
  } catch (error) {
    if (error instanceof HistoryError && error.code === "misconfigured") return error.message;
    throw error;
  }
  throw new Error("was taken");
}

/** All that a log or a person could get to see of it. */
function saidAbout(url: string): string {
  try {
    return describeAddress(parseDatabaseUrl(url));
  } catch (error) {
    return `${String(error)} ${JSON.stringify(error)}`;
  }
}

describe("a database URL", () => {
  test("says where, who and with what", () => {
    expect(parseDatabaseUrl("postgres://ann:s%40cret@db.test:6432/boxes")).toEqual({
      host: "db.test",
      port: 6432,
      user: "ann",
      password: "s@cret",
      database: "boxes",
      tls: false,
    });
  });

  test("may leave out what has a default", () => {
    expect(parseDatabaseUrl("postgresql://db.test")).toEqual({ host: "db.test", port: 5432, tls: false });
    expect(parseDatabaseUrl("postgres:///boxes")).toMatchObject({ host: "localhost", database: "boxes" });
  });

  test("may name the folder of a unix socket, or an IPv6 address", () => {
    expect(parseDatabaseUrl("postgres://ann@localhost/boxes?host=/run/postgresql").host).toBe("/run/postgresql");
    expect(parseDatabaseUrl("postgres://ann@%2Frun%2Fpostgresql/boxes").host).toBe("/run/postgresql");
    expect(parseDatabaseUrl("postgres://[::1]:5433/boxes")).toMatchObject({ host: "::1", port: 5433 });
  });

  test.each([
    ["disable", false],
    ["require", { rejectUnauthorized: false }],
    ["verify-ca", { rejectUnauthorized: true }],
    ["verify-full", { rejectUnauthorized: true, host: "db.test" }],
  ])("with sslmode %s encrypts and checks as libpq does", (mode, tls) => {
    expect(parseDatabaseUrl(`postgres://db.test/boxes?sslmode=${mode}`)).toMatchObject({ tls });
  });

  test.each([
    ["not a URL", "postgres://ann:pa#ss@db.test/boxes"],
    ["a #", "postgres://db.test/boxes#x"],
    ["parameter", "postgres://db.test/boxes?sslmod=require"],
    ["sslmode", "postgres://db.test/boxes?sslmode=maybe"],
    ["sslmode", "postgres://db.test/boxes?sslrootcert=/ca.pem"],
    ["cannot be read", "postgres://db.test/boxes?sslmode=verify-full&sslrootcert=/nowhere/ca.pem"],
    ["one database", "postgres://db.test/boxes/more"],
    ["%25", "postgres://ann:50%@db.test/boxes"],
  ])("with something wrong is refused, naming it: %s", (what, url) => {
    expect(refusal(url)).toContain(what);
  });

  test("is never repeated in a refusal or description, wherever the password ended up in it", () => {
    const secret = "5ecre7";
    const special = fc.string({
      unit: fc.constantFrom("@", "/", "?", "#", ":", "%", "[", "]", "&", "=", " ", "\\", "host=", "a"),
      maxLength: 6,
    });
    fc.assert(
      fc.property(special, special, fc.constantFrom("", "12"), (before, after, digits) => {
        const url = `postgres://ann:${digits}${before}${secret}${after}@db.test/boxes`;
        expect(saidAbout(url)).not.toContain(secret);
      }),
      { numRuns: 2000 },
    );
  });

  test("is described by its place alone", () => {
    const described = (url: string) => describeAddress(parseDatabaseUrl(url));
    expect(described("postgres://ann:pw@db.test/boxes")).toBe("PostgreSQL at db.test:5432/boxes");
    expect(described("postgres://ann:pw@[::1]/boxes")).toBe("PostgreSQL at [::1]:5432/boxes");
    expect(described("postgres:///boxes?host=/run/pg")).toBe("PostgreSQL at /run/pg (port 5432)/boxes");
  });
});
