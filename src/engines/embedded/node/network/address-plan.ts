/** Names and addresses of one AgentBox instance on this machine: all of them follow from the instance's id, its network and a slot's number. */
import { addressBytes, formatAddress, type Subnet, subnetSize } from "#lib/subnet.ts";

export interface AddressPlan {
  readonly instance: string;
  readonly subnet: Subnet;
  /** How many slots there can be. */
  readonly slots: number;
}

/** Link names have at most 15 characters: `abx`, the instance, `-` and a slot of five digits. */
const longestInstance = 6;

/** Refuses ids that cannot stand in the names of links and tables. */
export function checkInstanceId(instance: string): void {
  if (new RegExp(`^[a-z0-9]{1,${longestInstance}}$`).test(instance)) return;
  throw new Error(`${JSON.stringify(instance)} cannot be the id of an instance: 1 to ${longestInstance} lower-case letters and digits`);
}

/** Common to the names of everything that an instance has in the kernel. */
export const namePrefix = "abx";

export function bridgeName(instance: string): string {
  return `${namePrefix}${instance}`;
}

/** What the names of all ports of an instance begin with. No instance id holds a hyphen, so no other name does. */
export function portPrefix(instance: string): string {
  return `${bridgeName(instance)}-`;
}

function portName(instance: string, slot: number): string {
  return `${portPrefix(instance)}${slot}`;
}

/** The slots that a network of this size has room for, after its own address, the gateway's and the broadcast address. */
export function roomFor(subnet: Subnet): number {
  return subnetSize(subnet) - 3;
}

export function gatewayAddress({ subnet }: AddressPlan): number {
  return subnet.base + 1;
}

export function slotAddress({ subnet }: AddressPlan, slot: number): number {
  return subnet.base + 2 + slot;
}

/** A locally administered address that follows from the IPv4 address, so that it is as unique as that. */
export function macOf(address: number): string {
  return `02:ab:${addressBytes(address).toString("hex").match(/../g)?.join(":")}`;
}

export interface SlotAddresses {
  readonly port: string;
  readonly ip: string;
  readonly mac: string;
}

export function slotAddresses(plan: AddressPlan, slot: number): SlotAddresses {
  const address = slotAddress(plan, slot);
  return { port: portName(plan.instance, slot), ip: formatAddress(address), mac: macOf(address) };
}
