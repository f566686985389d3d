/** The agent of `cdp-mab`: after each round its means go to the server, which says what is left. */

import { COORDINATOR, packFloats, type Frame } from "./codec.js";
import { Eliminator } from "./eliminator.js";
import type { Run } from "./run.js";

export class Cdp extends Eliminator {
  private readonly partial: boolean;
  /** Whether this agent sends its means of the present round. */
  private upload = true;

  constructor(run: Run) {
    const { agents, parameters } = run.setup;
    const senders = Math.max(1, Math.ceil(parameters.participation * agents - 1e-9));
    super(run, senders);
    this.partial = senders < agents;
  }

  /** With partial participation the server says first who uploads. */
  begin(): void {
    if (!this.partial) this.beginRound();
  }

  /** `Active` of the next round, or a second one of this round: upload in place of a lost agent. */
  receive({ source, kind, fields }: Frame): void {
    if (source !== COORDINATOR || kind !== "Active" || this.run.done) return;
    const [round, arms, upload = true] = fields as [number, number[], boolean?];
    if (round === this.round && upload && !this.upload) {
      this.upload = true;
      this.share();
    } else if (round === this.round + 1) {
      this.upload = upload;
      this.keep(arms);
      this.beginRound();
    }
  }

  protected share(): void {
    if (this.upload) this.run.data(COORDINATOR, "Means", this.round, packFloats(this.mean));
  }
}
