/** Why a program cannot be started, in the same words as `StartFault` of the control plane's port to pods. */
export type Fault = "not-found" | "not-executable" | "user" | "workingDir" | "too-long";

export class LaunchFault extends Error {
  readonly fault: Fault;

  constructor(fault: Fault, message: string) {
    super(message);
    this.fault = fault;
  }
}
