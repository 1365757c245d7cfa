import { expect, test } from "vitest";
import {
  addressHeader,
  attribute,
  linkHeader,
  linkIndex,
  message,
  nestedAttribute,
  numberAttribute,
  parseAnswer,
  routeHeader,
  textAttribute,
} from "./netlink-message.ts";

const hex = (bytes: Buffer): string => bytes.toString("hex");

test("attributes carry their length without padding and end on a word", () => {
  expect(hex(textAttribute(3, "eth0"))).toBe("090003006574683000000000");
  expect(hex(numberAttribute(10, 0x0102_0304))).toBe("08000a0004030201");
  expect(attribute(1, Buffer.alloc(6)).length).toBe(12);
});

test("nested attributes are marked as such and hold the others", () => {
  const inner = numberAttribute(1, 7);
  expect(hex(nestedAttribute(18, inner))).toBe("0c001280" + hex(inner));
});

test("a message says its length, its kind, that it wants an answer, and its number", () => {
  const bytes = message("setLink", 5, linkHeader({ index: 3, up: true }));
  expect([bytes.readUInt32LE(0), bytes.readUInt16LE(4), bytes.readUInt16LE(6), bytes.readUInt32LE(8)]).toEqual([32, 19, 0x5, 5]);
  expect([bytes.readInt32LE(20), bytes.readUInt32LE(24), bytes.readUInt32LE(28)]).toEqual([3, 1, 1]);
});

test("what is new must not exist yet", () => {
  expect(message("newLink", 1).readUInt16LE(6)).toBe(0x605);
  expect(message("newRoute", 1).readUInt16LE(6)).toBe(0x605);
  expect(message("getLink", 1).readUInt16LE(6)).toBe(0x5);
});

test("headers of ports, addresses and routes are as the kernel wants them", () => {
  expect(linkHeader({ index: 4, bridgePort: true })[0]).toBe(7);
  expect(hex(addressHeader(9, 32))).toBe("0220000009000000");
  expect(hex(routeHeader("default"))).toBe("02000000fe03000100000000");
  expect(hex(routeHeader("link"))).toBe("02200000fe03fd0100000000");
});

test("an answer is an acknowledgement, a refusal or what was asked for", () => {
  const answer = (type: number, value: number): Buffer => {
    const bytes = Buffer.alloc(24);
    bytes.writeUInt16LE(type, 4);
    bytes.writeInt32LE(value, 16);
    bytes.writeInt32LE(42, 20);
    return bytes;
  };
  expect(parseAnswer(answer(2, 0))).toEqual({ kind: "done", errno: 0 });
  expect(parseAnswer(answer(2, -17))).toEqual({ kind: "done", errno: 17 });
  const found = parseAnswer(answer(16, 0));
  expect(found.kind === "data" && linkIndex(found.body)).toBe(42);
});
