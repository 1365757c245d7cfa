import { expect, test } from "vitest";
import {
  addressHeader,
  attribute,
  deleteConnection,
  linkHeader,
  linkIndex,
  listConnections,
  message,
  nestedAttribute,
  numberAttribute,
  parseAnswer,
  parseConnections,
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

test("connections are asked for by the address that opened them", () => {
  const bytes = listConnections(Buffer.from([10, 231, 0, 2]), 7);
  // Type, flags (a list), number; then family 2 and the filter.
  expect([bytes.readUInt32LE(0), bytes.readUInt16LE(4), bytes.readUInt16LE(6), bytes.readUInt32LE(8)]).toEqual([
    bytes.length,
    0x101,
    0x301,
    7,
  ]);
  expect(hex(bytes.subarray(16))).toBe(
    ["02000000", "18000180", "14000180", "080001000ae70002", "0800020000000000", "0c001980", "0800010001000000"].join(""),
  );
});

test("of a list of connections is taken how each was opened, and it ends where the kernel says so", () => {
  const tuple = nestedAttribute(1, numberAttribute(1, 5));
  const entry = (last: boolean): Buffer => {
    const body = Buffer.concat([Buffer.from([2, 0, 0, 0]), numberAttribute(3, 9), tuple, nestedAttribute(2, numberAttribute(1, 6))]);
    const head = Buffer.alloc(16);
    head.writeUInt32LE(16 + (last ? 4 : body.length), 0);
    head.writeUInt16LE(last ? 3 : 0x100, 4);
    return Buffer.concat([head, last ? Buffer.alloc(4) : body]);
  };
  expect(parseConnections(Buffer.concat([entry(false), entry(false)]))).toEqual({ tuples: [tuple, tuple], isLast: false, errno: 0 });
  expect(parseConnections(Buffer.concat([entry(false), entry(true)]))).toEqual({ tuples: [tuple], isLast: true, errno: 0 });
  expect(hex(deleteConnection(tuple, 1).subarray(16))).toBe("02000000" + hex(tuple));
});

test("a refused list says why", () => {
  const bytes = Buffer.alloc(20);
  bytes.writeUInt32LE(20, 0);
  bytes.writeUInt16LE(2, 4);
  bytes.writeInt32LE(-95, 16);
  expect(parseConnections(bytes)).toEqual({ tuples: [], isLast: true, errno: 95 });
});
