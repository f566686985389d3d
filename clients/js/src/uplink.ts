/** The connection to the coordinator: joining, and resuming after a cut. "Joining" in docs/wire.md. */

import { randomBytes } from "node:crypto";
import * as zmq from "zeromq";

import { COORDINATOR, decodeFrame, encodeFrame, NO_RUN, Plane, type Frame } from "./codec.js";
import type { Keys } from "./keys.js";
import { Session } from "./session.js";
import { connecting, Outbox, receive } from "./sockets.js";

const REOPEN_AFTER = 100; // ms
const PROBE_EVERY = 1_500; // ms
const ROUND_TRIPS = 8;

export interface Owner {
  /** The coordinator lets the agent in as this rank; returns the address of its inbox, or "". */
  welcomed(rank: number, system: string): Promise<string>;
  /** A frame of the session came. */
  heard(frame: Frame): void;
  /** The coordinator was started again: forget what it said. */
  forget(): void;
  failed(reason: string): void;
}

export class Uplink {
  session = new Session((bytes) => this.outbox.push([bytes]));
  private socket!: zmq.Dealer;
  private outbox!: Outbox;
  private readonly incarnation = randomBytes(8);
  private connections = 0;
  private welcome = false;
  /** The address of the inbox, once the coordinator was told that the agent has arrived. */
  private inbox: string | undefined;
  private roundTrips: { length: bigint; offset: bigint }[] = [];
  /** How far the coordinator's clock is ahead, in nanoseconds. */
  private offset = 0n;
  private patience: NodeJS.Timeout | undefined;
  private readonly prober = setInterval(() => this.session.probe(), PROBE_EVERY);

  /** `wait`: seconds to wait for the coordinator, whenever there is none. */
  constructor(
    private readonly endpoint: string,
    private rank: number,
    private readonly wait: number,
    private readonly keys: Keys | undefined,
    private readonly owner: Owner,
  ) {
    this.open();
  }

  /** What the coordinator's clock shows, in nanoseconds; 0 while that is not known. */
  clock(): bigint {
    return this.offset === 0n ? 0n : process.hrtime.bigint() + this.offset;
  }

  /** Confirm what was taken, and close. */
  async leave(): Promise<void> {
    this.session.confirm();
    await this.outbox.flushed();
    this.close();
  }

  close(): void {
    clearTimeout(this.patience);
    clearInterval(this.prober);
    this.socket.close();
  }

  /** A new socket for each connection: nothing of the old one is left in its queues. */
  private open(): void {
    const socket = new zmq.Dealer(connecting(this.keys, this.keys?.coordinator));
    this.socket = socket;
    this.outbox = new Outbox(socket);
    this.connections += 1;
    this.patience ??= setTimeout(
      () => this.owner.failed(`there was no coordinator at ${this.endpoint} for ${this.wait} s`),
      this.wait * 1_000,
    );
    socket.events.on("disconnect", () => this.lost(socket));
    socket.events.on("handshake:error:auth", () => {
      this.owner.failed(`the coordinator at ${this.endpoint} does not know this agent's key`);
    });
    socket.connect(this.endpoint);
    void receive(socket, ([bytes]) => this.take(bytes));
    if (this.welcome) this.resume();
    else this.join();
  }

  private lost(socket: zmq.Dealer): void {
    if (socket !== this.socket || socket.closed) return;
    this.session.disconnected();
    socket.linger = 0; // or it would go on connecting, to deliver an old `Join` or `Resume`
    socket.close();
    setTimeout(() => this.open(), REOPEN_AFTER);
  }

  private take(bytes: Buffer): void {
    try {
      const frame = decodeFrame(this.session.take(bytes) ?? bytes);
      if (frame === undefined || frame.source !== COORDINATOR) return;
      require(frame);
      if (!this.takeJoining(frame)) this.owner.heard(frame);
    } catch (error) {
      // whatever a coordinator sends ends this agent by a sentence at most
      this.owner.failed(`the coordinator sent what this client cannot take: ${(error as Error).message}`);
    }
  }

  /** Take a frame that belongs to this connection only; false if it is none. */
  private takeJoining({ kind, fields }: Frame): boolean {
    switch (kind) {
      case "Refused":
        this.owner.failed(`the coordinator refused this agent: ${fields[0]}`);
        return true;
      case "Welcome":
        [this.rank, this.welcome] = [fields[0], true];
        this.session.connected();
        this.reached();
        void this.owner.welcomed(this.rank, fields[1]).then((inbox) => {
          this.inbox = inbox;
          this.sync();
        });
        return true;
      case "Synced":
        this.synced(BigInt(fields[0]), BigInt(fields[1]));
        return true;
      case "Resumed":
        this.reached();
        this.session.connected(fields[0]);
        return true;
      case "Whose":
        this.session.disconnected();
        this.connections += 1;
        this.resume();
        return true;
      case "Unknown":
        this.welcome = false;
        this.inbox = undefined;
        this.roundTrips = [];
        this.session = new Session((bytes) => this.outbox.push([bytes]));
        this.owner.forget();
        this.join();
        return true;
      default:
        return false;
    }
  }

  private reached(): void {
    clearTimeout(this.patience);
    this.patience = undefined;
  }

  private join(): void {
    this.say("Join", this.rank, "", "", 0, this.incarnation, Date.now() / 1_000, {}, "");
  }

  private resume(): void {
    this.say("Resume", this.rank, "", this.incarnation, this.connections, this.session.taken, 0, 0);
    if (this.inbox !== undefined && this.roundTrips.length < ROUND_TRIPS) this.sync();
  }

  private sync(): void {
    this.say("Sync", Number(process.hrtime.bigint())); // exact up to 104 days of uptime, and near enough then
  }

  private synced(sent: bigint, clock: bigint): void {
    if (this.inbox === undefined || this.roundTrips.length >= ROUND_TRIPS) return;
    const now = process.hrtime.bigint();
    this.roundTrips.push({ length: now - sent, offset: clock - (sent + now) / 2n });
    if (this.roundTrips.length < ROUND_TRIPS) return this.sync();
    const [quickest] = this.roundTrips.sort((one, other) => Number(one.length - other.length));
    this.offset = quickest.offset;
    this.session.send(this.frame("Arrived", [this.inbox]));
  }

  /** Send what has a meaning on this connection only. */
  private say(kind: string, ...fields: unknown[]): void {
    this.outbox.push([this.frame(kind, fields)]);
  }

  private frame(kind: string, fields: unknown[]): Buffer {
    const header = { plane: Plane.Control, run: NO_RUN, source: this.rank, sequence: 0, now: 0, sent: 0n };
    return encodeFrame(header, kind, fields);
  }
}

/** The types of what a coordinator says outside runs. */
const FIELDS: Record<string, string[]> = {
  Refused: ["string"],
  Welcome: ["number", "string"],
  Synced: ["number", "number"],
  Resumed: ["number"],
  Configure: ["number", "object"],
  Moved: ["number", "string"],
};

function require({ kind, fields }: Frame): void {
  const wrong = FIELDS[kind]?.some((type, place) => {
    const value = typeof fields[place] === "bigint" ? Number(fields[place]) : fields[place];
    return typeof value !== type || value === null || (type === "number" && !Number.isInteger(value));
  });
  if (wrong) throw new Error(`a damaged ${kind}`);
}
