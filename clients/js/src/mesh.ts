/** The links between neighbours: an inbox, and a PUSH socket to each neighbour's inbox. */

import * as zmq from "zeromq";

import { decodeFrame, senderOf, type Frame } from "./codec.js";
import type { Keys } from "./keys.js";
import { Session } from "./session.js";
import { admitKeys, connecting, listening, Outbox, receive } from "./sockets.js";

const PROBE_EVERY = 1_500; // ms

interface Link {
  socket: zmq.Push;
  outbox: Outbox;
  session: Session;
  /** The neighbour's public key. */
  key: string;
  up: boolean;
}

export interface Neighbourhood {
  inboxes: Record<number, string>;
  keys: Record<number, string>;
  /** The number before that of each session's first frame. */
  first: number;
}

export class Mesh {
  private readonly links = new Map<number, Link>();
  private inbox: zmq.Pull | undefined;
  private admitted = new Set<string>();
  private admitter: zmq.Router | undefined;
  private readonly prober = setInterval(() => this.links.forEach((link) => link.session.probe()), PROBE_EVERY);

  /** `heard`: a neighbour's frame came. `changed`: the link to a neighbour is up, or was lost. */
  constructor(
    private readonly keys: Keys | undefined,
    private readonly heard: (frame: Frame) => void,
    private readonly changed: (neighbour: number, up: boolean) => void,
  ) {}

  /** Open the inbox on this host; returns its address. */
  async open(host: string): Promise<string> {
    if (this.keys && !this.admitter) this.admitter = await admitKeys(() => this.admitted);
    this.inbox ??= new zmq.Pull(listening(this.keys));
    if (!this.inbox.lastEndpoint) {
      await this.inbox.bind(`tcp://${host}:*`);
      void receive(this.inbox, ([bytes]) => this.take(bytes));
    }
    return this.inbox.lastEndpoint!;
  }

  /** Link this agent to its neighbours; `allUp` says when each of them listens. */
  connect(rank: number, { inboxes, keys, first }: Neighbourhood): void {
    this.unlink();
    this.admitted = new Set(Object.values(keys));
    const signature = Buffer.alloc(12);
    signature.writeInt32LE(rank, 8);
    for (const [name, address] of Object.entries(inboxes)) {
      const neighbour = Number(name);
      const session = new Session((bytes) => link.outbox.push([bytes]), first, signature);
      const link = { session, key: keys[neighbour], up: false } as Link;
      this.links.set(neighbour, link);
      this.dial(neighbour, link, address);
    }
  }

  /** A neighbour is at another inbox now; the session goes on. */
  move(neighbour: number, address: string): void {
    const link = this.links.get(neighbour);
    if (link === undefined) return;
    this.turn(neighbour, link, link.socket, false);
    link.socket.linger = 0;
    link.socket.close();
    this.dial(neighbour, link, address);
  }

  private dial(neighbour: number, link: Link, address: string): void {
    const socket = new zmq.Push(connecting(this.keys, link.key));
    link.socket = socket;
    link.outbox = new Outbox(socket);
    socket.events.on("handshake", () => this.turn(neighbour, link, socket, true));
    socket.events.on("disconnect", () => this.turn(neighbour, link, socket, false));
    socket.connect(address);
  }

  get allUp(): boolean {
    return [...this.links.values()].every((link) => link.up);
  }

  send(neighbour: number, frame: Buffer): void {
    this.links.get(neighbour)!.session.send(frame);
  }

  unlink(): void {
    this.links.forEach((link) => link.socket.close());
    this.links.clear();
  }

  close(): void {
    clearInterval(this.prober);
    this.unlink();
    this.inbox?.close();
    this.admitter?.close();
  }

  private turn(neighbour: number, link: Link, socket: zmq.Push, up: boolean): void {
    if (this.links.get(neighbour) !== link || link.socket !== socket || link.up === up) return;
    link.up = up;
    if (up) link.session.connected();
    else link.session.disconnected();
    this.changed(neighbour, up);
  }

  private take(bytes: Buffer): void {
    const sender = senderOf(bytes);
    const content = this.links.get(sender)?.session.take(bytes);
    const frame = content && decodeFrame(content);
    if (frame && frame.source === sender) this.heard(frame);
  }
}
