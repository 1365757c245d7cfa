import { describe, expect, test } from "vitest";
import { HistoryError } from "../history-error.ts";
import { explainFailure, isPassing } from "./failures.ts";

const where = "PostgreSQL at db.test:5432/boxes";
const coded = (code: string, message = "some words") => Object.assign(new Error(message), { code });

describe("a failure of PostgreSQL", () => {
  test.each([
    ["nobody listens", coded("ECONNREFUSED")],
    ["the connection broke", coded("ECONNRESET")],
    ["the server shuts down", coded("57P01")],
    ["the server starts up", coded("57P03")],
    ["it has too many clients", coded("53300")],
    ["a connection exception", coded("08006")],
    ["a deadlock", coded("40P01")],
    ["the driver lost the connection", new Error("Connection terminated unexpectedly")],
    ["the driver got no connection", new Error("timeout exceeded when trying to connect")],
    ["the driver heard nothing", new Error("Query read timeout")],
    ["no address of a host answers", new AggregateError([coded("ECONNREFUSED", "refused by ::1"), coded("ECONNREFUSED")])],
  ])("passes by itself when %s, so the call is repeated", (_, error) => {
    expect(isPassing(error)).toBe(true);
    expect(explainFailure(error, where)).toMatchObject({ code: "unavailable", message: expect.stringContaining(where) as string });
  });

  test.each([
    ["a wrong password", coded("28P01"), "misconfigured", /user or password/],
    ["no way in", coded("28000", "no pg_hba.conf entry"), "misconfigured", /pg_hba.*sslmode=require/],
    ["no such database", coded("3D000"), "misconfigured", /does not exist/],
    ["no right", coded("42501", "permission denied for schema public"), "misconfigured", /permission denied.*create tables/],
    ["a statement that took too long", coded("57014"), "too-slow", /took too long/],
    ["no password at all", new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string"), "misconfigured", /has none/],
    ["no encryption", new Error("The server does not support SSL connections"), "misconfigured", /sslmode/],
    ["an unknown signer", coded("SELF_SIGNED_CERT_IN_CHAIN", "self-signed certificate"), "misconfigured", /sslrootcert/],
    ["a bug of ours", coded("42703", 'column "x" does not exist'), "unavailable", /column "x"/],
  ] as const)("is not repeated for %s", (_, error, code, message) => {
    expect(isPassing(error)).toBe(false);
    expect(explainFailure(error, where)).toMatchObject({ code, message: expect.stringMatching(message) as string, cause: error });
  });

  test("says what each address of a host answered", () => {
    const error = new AggregateError([coded("ECONNREFUSED", "refused by ::1"), coded("ECONNREFUSED", "refused by 127.0.0.1")]);
    expect(explainFailure(error, where).message).toContain("refused by ::1; refused by 127.0.0.1");
  });

  test("that is ours already is passed on", () => {
    const ours = new HistoryError("closed", "closed");
    expect(explainFailure(ours, where)).toBe(ours);
  });
});
