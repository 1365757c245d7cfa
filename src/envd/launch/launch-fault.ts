/** Why a program cannot be started; `StartFault` of the control plane's port to pods has the same words. */
export type Fault = "not-found" | "not-executable" | "user" | "workingDir" | "too-long";

export class LaunchFault extends Error {
  readonly fault: Fault;

  constructor(fault: Fault, message: string) {
    super(message);
    this.fault = fault;
  }
}
