/** Why a container cannot be made from what the pod says; trying again helps only when something has changed. */
export class RenderError extends Error {
  override readonly name = "RenderError";
  /** `volume`: something cannot be mounted. `config`: anything else. */
  readonly about: "volume" | "config";

  constructor(about: RenderError["about"], message: string) {
    super(message);
    this.about = about;
  }
}
