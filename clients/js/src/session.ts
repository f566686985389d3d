/** One end of a link: numbers frames, keeps them until they are confirmed, sends them again. */

import { decodeEnvelope, encodeEnvelope, type Mark } from "./codec.js";

/** After so many frames taken with nothing to send, a bare confirmation is sent. */
const CONFIRM_EVERY = 64;
/** Frames kept for a peer that confirms nothing; beyond it the agent gives up. */
const MOST_KEPT = 100_000;

/** How far one 32-bit number is ahead of another; negative if it is behind. */
const ahead = (number: number, of: number): number => (number - of) | 0;

export class Session {
  /** The last number given to a frame, taken in order, and confirmed by the other end. */
  sent: number;
  taken: number;
  private confirmed: number;
  private told: number;
  private kept: Buffer[] = [];
  /** Whether the present connection may carry frames; without it they are only kept. */
  private up = false;
  /** What was taken when missing frames were last asked for: they are asked for once. */
  private askedAt = -1;

  /** `signature` follows envelopes without a frame: see "The envelope". */
  constructor(
    private readonly post: (bytes: Buffer) => void,
    first = 0,
    private readonly signature: Buffer = Buffer.alloc(0),
  ) {
    this.sent = this.taken = this.confirmed = this.told = first;
  }

  send(frame: Buffer): void {
    if (this.kept.length >= MOST_KEPT) throw new Error("the other end does not confirm frames");
    this.kept.push(frame);
    this.sent += 1;
    if (this.up) this.postFrame(this.sent, frame);
  }

  /** The frame in these bytes, if it is the next one. */
  take(bytes: Buffer): Buffer | undefined {
    const envelope = decodeEnvelope(bytes);
    if (envelope === undefined) return undefined;
    const { mark, number, content } = envelope;
    this.forget(ahead(envelope.confirmed, this.confirmed));
    if (mark === "A") {
      if (ahead(this.confirmed, envelope.confirmed) > 0) this.bare("G", this.confirmed);
      else this.sendAgain();
    }
    if (mark === "P") this.bare(ahead(number, this.taken) > 0 ? "A" : "C");
    if (mark !== "F") return undefined;
    const early = ahead(number, this.taken + 1);
    if (early > 0 && this.askedAt !== this.taken) {
      this.askedAt = this.taken;
      this.bare("A");
    }
    if (early !== 0) return undefined;
    this.taken += 1;
    if (this.taken - this.told >= CONFIRM_EVERY) this.confirm();
    return content;
  }

  confirm(): void {
    this.bare("C");
  }

  /** Ask how far the other end is, if it has not confirmed all. */
  probe(): void {
    if (this.kept.length > 0) this.bare("P", this.sent);
  }

  /** A connection is up, over which the other end took `theirs` frames, if it said so. */
  connected(theirs?: number): void {
    this.up = true;
    if (theirs !== undefined) this.forget(ahead(theirs, this.confirmed));
    this.sendAgain();
  }

  disconnected(): void {
    this.up = false;
  }

  private forget(newlyConfirmed: number): void {
    if (newlyConfirmed <= 0 || newlyConfirmed > this.kept.length) return;
    this.kept.splice(0, newlyConfirmed);
    this.confirmed += newlyConfirmed;
  }

  private sendAgain(): void {
    this.askedAt = -1;
    if (this.up) this.kept.forEach((frame, place) => this.postFrame(this.confirmed + place + 1, frame));
  }

  private postFrame(number: number, content: Buffer): void {
    this.told = this.taken;
    this.post(encodeEnvelope({ mark: "F", number, confirmed: this.taken, content }));
  }

  private bare(mark: Mark, number = 0): void {
    if (!this.up) return;
    this.told = this.taken;
    this.post(encodeEnvelope({ mark, number, confirmed: this.taken, content: this.signature }));
  }
}
