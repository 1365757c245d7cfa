import { randomBytes } from "node:crypto";

const digits = "0123456789abcdefghijklmnopqrstuvwxyz";
const timeLength = 8;
const allTimes = 36 ** timeLength;
const randomLength = 16;
const idForm = /^[0-9a-z]{24}$/;

/**
 * 24 letters and digits: 8 that grow with time, so that ids of one time lie together, and 16 of chance (82 bits), so that knowing one
 * says nothing about the next. Good as a label, as a part of a host name (`<port>-<id>.<domain>`) and for E2B clients.
 */
export function newSandboxId(now: number): string {
  return now.toString(36).padStart(timeLength, "0").slice(-timeLength) + randomText(randomLength);
}

/** True if the id can have been created within `ms` of now, by the clock of its process. */
export function isSandboxIdOfAbout(now: number, sandboxId: string, ms: number): boolean {
  if (!idForm.test(sandboxId)) return false;
  // The digits of an id begin anew when there are no more of them.
  const apart = Math.abs(Number.parseInt(sandboxId.slice(0, timeLength), 36) - (now % allTimes));
  return Math.min(apart, allTimes - apart) <= ms;
}

function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    // 252 is the largest multiple of 36 in a byte: taking what is above it would make some digits likelier.
    for (const byte of randomBytes(length)) if (byte < 252 && text.length < length) text += digits.charAt(byte % 36);
  }
  return text;
}
