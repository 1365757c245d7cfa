import { expect, test } from "vitest";
import { podFileContents } from "./pod-files.ts";

test("a pod knows its own name without asking anybody, and whom to ask for others", () => {
  expect(podFileContents({ hostname: "box", ip: "10.231.0.5", nameservers: ["9.9.9.9"], firstUid: 1 })).toEqual({
    hosts: "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n10.231.0.5 box\n",
    hostname: "box\n",
    "resolv.conf": "nameserver 9.9.9.9\noptions timeout:2 attempts:2\n",
  });
});
