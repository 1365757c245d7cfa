import { expect, test } from "vitest";
import { chooseNameservers, parseNameservers, renderResolvConf } from "./nameservers.ts";

test("only IPv4 name servers are taken from a resolv.conf", () => {
  expect(parseNameservers("# x\nsearch corp.example\nnameserver 9.9.9.9\n nameserver\t10.0.0.53 # office\nnameserver fe80::1\n")).toEqual([
    "9.9.9.9",
    "10.0.0.53",
  ]);
});

test("a resolver on the machine itself cannot be reached by a sandbox; those it asks can", () => {
  const stub = "nameserver 127.0.0.53\n";
  const real = "nameserver 10.0.0.53\nnameserver 9.9.9.9\n";
  expect(chooseNameservers([real, stub], new Set())).toEqual(["10.0.0.53", "9.9.9.9"]);
  expect(chooseNameservers(["", stub], new Set())).toEqual(["1.1.1.1", "8.8.8.8"]);
  expect(chooseNameservers(["", "nameserver 192.168.1.5\n"], new Set(["192.168.1.5"]))).toEqual(["1.1.1.1", "8.8.8.8"]);
});

test("a sandbox's resolv.conf names the servers and no search domain", () => {
  expect(renderResolvConf(["9.9.9.9", "1.1.1.1"])).toBe("nameserver 9.9.9.9\nnameserver 1.1.1.1\noptions timeout:2 attempts:2\n");
});
